"""Builds a folder with a file of every kind that people have, each saying one thing."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Sequence
from email.message import EmailMessage
from pathlib import Path

import pytest

SAYING = "I want to cancel my subscription."
OTHER = "The weather is fine today."


def pdf(*pages: str) -> bytes:
    """A file with a line of text a page; an empty one is an image, as a scan is."""
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        image = "BI /W 1 /H 1 /CS /G /BPC 8 ID a EI"
        content = f"BT /F1 12 Tf 72 700 Td ({text}) Tj ET" if text else image
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>",
            f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        ]
    return pdf_of(objects)


def pdf_of(objects: Sequence[str | bytes]) -> bytes:
    """A file of objects, of which the first is the catalog."""
    out, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        raw = body.encode("latin-1") if isinstance(body, str) else body
        out += b"%d 0 obj\n%s\nendobj\n" % (number, raw)
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    end = f"trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    return out + f"xref\n0 {size}\n0000000000 65535 f \n{table}{end}".encode()


def docx() -> bytes:
    document = pytest.importorskip("docx").Document()
    document.add_heading("Intro", 1)
    document.add_paragraph(OTHER)
    document.add_heading("Ending", 1)
    document.add_paragraph(SAYING)
    document.add_table(1, 2).cell(0, 1).text = "42"
    return saved(document.save)


_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_BY = 'w:id="7" w:author="Ann" w:date="2026-01-01T00:00:00Z"'
_INS, _DEL = f"<w:ins {_BY}>", f"<w:del {_BY}>"
_NOTE = '<w:r><w:{}Reference w:id="1"/></w:r>'


def _run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


_IN_BOX = f"<w:txbxContent><w:p>{_run('In a box')}</w:p></w:txbxContent>"
_BOX = f"""<w:r><mc:AlternateContent
  xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"
  xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"
  xmlns:v="urn:schemas-microsoft-com:vml">
<mc:Choice Requires="wps"><w:drawing><wps:txbx>{_IN_BOX}</wps:txbx></w:drawing></mc:Choice>
<mc:Fallback><w:pict><v:textbox>{_IN_BOX}</v:textbox></w:pict></mc:Fallback>
</mc:AlternateContent></w:r>"""
_REVIEWED = f"""<w:p {_W}>{_run("Either party may ")}{_INS}{_run("not ")}</w:ins>
{_DEL}<w:r><w:delText>cancel</w:delText></w:r></w:del>{_INS}{_run("end")}</w:ins>
<w:commentRangeStart w:id="1"/>{_run(" it.")}<w:commentRangeEnd w:id="1"/>
{_NOTE.format("comment")}{_NOTE.format("footnote")}{_BOX}{_NOTE.format("endnote")}</w:p>"""
_CONTROL = f"<w:sdt {_W}><w:sdtContent><w:p>{_run('In a control')}</w:p></w:sdtContent></w:sdt>"
_CELL = f"<w:tc><w:p>{_run('Gone')}</w:p></w:tc>"
_ROW = f"<w:tr {_W}><w:trPr>{_DEL}</w:del></w:trPr>{_CELL}</w:tr>"


def reviewed_docx() -> bytes:
    """A Word file with tracked changes, a comment, notes, a text box, a header and a footer."""
    pytest.importorskip("docx")
    from docx import Document
    from docx.opc.constants import RELATIONSHIP_TYPE
    from docx.opc.packuri import PackURI
    from docx.opc.part import Part
    from docx.oxml import parse_xml

    document = Document()
    document.sections[0].header.paragraphs[0].text = "On top"
    document.sections[0].footer.paragraphs[0].text = "At the foot"
    body = document.element.body
    for xml in (_REVIEWED, _CONTROL):
        body.insert(len(body) - 1, parse_xml(xml))
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Fee", "42"
    table._tbl.append(parse_xml(_ROW))
    parts = {
        "footnotes": ("footnote", RELATIONSHIP_TYPE.FOOTNOTES, "Below the page"),
        "endnotes": ("endnote", RELATIONSHIP_TYPE.ENDNOTES, "Behind the text"),
        "comments": ("comment", RELATIONSHIP_TYPE.COMMENTS, "A comment"),
    }
    for name, (note, kind, text) in parts.items():
        separator = f'<w:{note} w:type="separator" w:id="0"><w:p/></w:{note}>'
        said = f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"
        notes = f'{"" if name == "comments" else separator}<w:{note} w:id="1">{said}</w:{note}>'
        content = f"application/vnd.openxmlformats-officedocument.wordprocessingml.{name}+xml"
        xml = f"<w:{name} {_W}>{notes}</w:{name}>".encode()
        part = Part(PackURI(f"/word/{name}.xml"), content, xml, document.part.package)
        document.part.relate_to(part, kind)
    return saved(document.save)


def pptx() -> bytes:
    show = pytest.importorskip("pptx").Presentation()
    for text in (OTHER, SAYING):
        slide = show.slides.add_slide(show.slide_layouts[5])
        slide.shapes.title.text = text
    return saved(show.save)


def xlsx(*rows: tuple[object, ...]) -> bytes:
    book = pytest.importorskip("openpyxl").Workbook()
    for row in rows:
        book.active.append(row)
    return saved(book.save)


def saved(save: Callable[[io.BytesIO], object]) -> bytes:
    out = io.BytesIO()
    save(out)
    return out.getvalue()


def eml() -> bytes:
    message = EmailMessage()
    message["Subject"] = "My plan"
    message["From"] = "ann@example.org"
    message["To"] = "bo@example.org"
    message.set_content(SAYING)
    message.add_attachment(b"x", maintype="image", subtype="png", filename="a.png")
    return message.as_bytes()


def epub() -> bytes:
    container = (
        '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="b/book.opf"/></rootfiles></container>'
    )
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="2" href="two.html"/>'
        '<item id="1" href="one.html"/></manifest>'
        '<spine><itemref idref="1"/><itemref idref="2"/></spine></package>'
    )
    return zipped(
        {
            "META-INF/container.xml": container.encode(),
            "b/book.opf": package.encode(),
            "b/one.html": f"<h1>One</h1><p>{OTHER}</p>".encode(),
            "b/two.html": f"<h1>Two</h1><p>{SAYING}</p>".encode(),
        }
    )


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()


def tarred(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def columnar(kind: str, **columns: list[object]) -> bytes:
    """A file of Parquet or Arrow, or a ``stream`` of that, without columns that have nothing."""
    pa = pytest.importorskip("pyarrow")
    usual: dict[str, list[object]] = {
        "id": [f"{kind}-0", f"{kind}-1"],
        "text": [OTHER, SAYING],
    }
    table = pa.table({name: cells for name, cells in (usual | columns).items() if cells})
    out = io.BytesIO()
    if kind == "parquet":
        from pyarrow import parquet

        parquet.write_table(table, out)
    else:
        make = pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file
        with make(out, table.schema) as writer:
            writer.write_table(table)
    return out.getvalue()


CUE = (
    "{mark}00:00:01{dot}000 --> 00:00:02{dot}000\n{a}\n\n"
    "00:00:03{dot}000 --> 00:00:04{dot}000\n{b}\n"
)
LENS = {"Transcript": [{"Content": SAYING, "ParticipantRole": "CUSTOMER", "BeginOffsetMillis": 7}]}


def write_many(folder: Path) -> dict[str, dict[str, object]]:
    """Write the files; returns what the hit in each shows, by the id of its document."""
    jsonl = json.dumps({"text": SAYING}).encode()
    page = f"<html><body><h2>Ending</h2><p>{SAYING}</p><script>x()</script></body></html>"
    spanish = "Señor: I want to cancel my subscription."
    files: dict[str, tuple[bytes, str, dict[str, object]]] = {
        "a.txt": (SAYING.encode(), "a.txt", {}),
        "b.md": (f"# Title\n\n{SAYING}\n".encode(), "b.md", {}),
        "chat.txt": (
            f"Agent: Hi.\nCustomer: {SAYING}\nAgent: Why?\nCustomer: So.\n".encode(),
            "chat.txt",
            {"speaker": "Customer"},
        ),
        "cp1252.txt": (spanish.encode("cp1252"), "cp1252.txt", {"encoding": "cp1252"}),
        "utf16.txt": (SAYING.encode("utf-16"), "utf16.txt", {"encoding": "utf-16"}),
        "c.jsonl": (jsonl, "c.jsonl#1", {}),
        "d.ndjson": (jsonl, "d.ndjson#1", {}),
        "list.json": (json.dumps([{"text": SAYING}]).encode(), "list.json#1", {}),
        "lens.json": (
            json.dumps(LENS).encode(),
            "lens.json",
            {"speaker": "CUSTOMER", "start_time": 0.007},
        ),
        "e.csv": (f"text,n\n{SAYING},1\n".encode(), "e.csv#2", {"n": "1"}),
        "semicolons.csv": (f"n;text\n1;{SAYING}\n".encode(), "semicolons.csv#2", {"n": "1"}),
        "f.tsv": (f"text\tn\n{SAYING}\t1\n".encode(), "f.tsv#2", {"n": "1"}),
        "g.vtt": (
            CUE.format(mark="WEBVTT\n\n", dot=".", a=OTHER, b=SAYING).encode(),
            "g.vtt",
            {"start_time": 3, "end_time": 4},
        ),
        "h.srt": (
            CUE.format(mark="", dot=",", a=OTHER, b=SAYING).encode(),
            "h.srt",
            {"start_time": 3, "end_time": 4},
        ),
        "i.pdf": (pdf(OTHER, SAYING), "i.pdf", {"page": 2}),
        "unnamed": (pdf(SAYING), "unnamed", {"page": 1}),
        "j.docx": (docx(), "j.docx", {"heading": "Ending"}),
        "k.pptx": (pptx(), "k.pptx", {"slide": 2}),
        "l.xlsx": (xlsx(("text", "n"), (SAYING, 1)), "l.xlsx#2", {"sheet": "Sheet", "n": 1}),
        "notes.xlsx": (xlsx(("Say", SAYING)), "notes.xlsx", {"sheet": "Sheet"}),
        "m.html": (page.encode(), "m.html", {"heading": "Ending"}),
        "n.eml": (eml(), "n.eml", {"subject": "My plan", "attachments": "a.png"}),
        "o.rtf": (rf"{{\rtf1\ansi {SAYING}\par}}".encode(), "o.rtf", {}),
        "p.epub": (epub(), "p.epub", {"heading": "Two"}),
        "q.parquet": (columnar("parquet"), "parquet-1", {}),
        "r.arrow": (columnar("arrow"), "arrow-1", {}),
        "s.txt.gz": (gzip.compress(SAYING.encode()), "s.txt.gz", {}),
        "t.zip": (zipped({"in/x.pdf": pdf(OTHER, SAYING)}), "t.zip/in/x.pdf", {"page": 2}),
        "u.tar": (tarred({"x.jsonl": jsonl}), "u.tar/x.jsonl#1", {}),
        "v.tgz": (gzip.compress(tarred({"y.docx": docx()})), "v.tgz/y.docx", {"heading": "Ending"}),
        "w.pdf": (docx(), "w.pdf", {"heading": "Ending"}),
    }
    for name, (content, _, _) in files.items():
        (folder / name).write_bytes(content)
    return {doc_id: shown for _, doc_id, shown in files.values()}
