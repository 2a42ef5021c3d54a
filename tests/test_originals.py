"""Hits on the files that they came from: marked copies, pages of reports, and the bare text."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from slice_os import Corpus, Document, SpanEncoder
from slice_os.cli import cli
from slice_os.originals.copies import write_marked
from slice_os.originals.finding import find_original
from tests.many_formats import OTHER, SAYING, pdf, pdf_of, saved

PHRASE = "I want to cancel my subscription"
# A page of two lines, by its operators.
LINES = f"{SAYING}) Tj 0 -14 Td (Whatever it takes."

pdfium = pytest.importorskip("pypdfium2")
docx = pytest.importorskip("docx")

Run = Callable[..., Result]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a PDF and a Word file that say it, and a text file that does, too."""
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "a.pdf").write_bytes(pdf(OTHER, "", LINES))
    (folder / "b.docx").write_bytes(word())
    (folder / "c.txt").write_text(SAYING)
    return folder


@pytest.fixture
def store(files: Path, encoder: SpanEncoder, tmp_path: Path) -> Path:
    folder = tmp_path / "calls.slice"
    with Corpus(folder, encoder) as corpus:
        corpus.ingest([files])
        corpus.add([Document("program", SAYING)])
    return folder


@pytest.fixture
def run(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SLICE_OS_STORE", str(store))
    return lambda *arguments: CliRunner().invoke(cli, list(map(str, arguments)))


def word() -> bytes:
    """Says it twice, in runs that begin and end within its words, and in a table."""
    file = docx.Document()
    file.add_paragraph("Good day. ")
    for part in ("Once more: I wa", "nt to can", "cel my subscription."):
        file.paragraphs[-1].add_run(part).bold = part.startswith("nt")
    file.add_paragraph(OTHER)
    file.add_table(1, 2).cell(0, 1).text = SAYING
    return saved(file.save)


def mine(run: Run, target: object, *more: object) -> Result:
    return run("mine", "-p", PHRASE, "--threshold", 0.8, "-o", target, *more)


def highlighted(path: Path) -> list[tuple[int, str, str]]:
    """The page, the words and the note of every highlight."""
    raw = pdfium.raw
    found = []
    with pdfium.PdfDocument(path) as file:
        for number, page in enumerate(file, 1):
            text = page.get_textpage()
            for at in range(raw.FPDFPage_GetAnnotCount(page)):
                mark = raw.FPDFPage_GetAnnot(page, at)
                assert raw.FPDFAnnot_GetSubtype(mark) == raw.FPDF_ANNOT_HIGHLIGHT
                words = []
                for line in range(raw.FPDFAnnot_CountAttachmentPoints(mark)):
                    box = raw.FS_QUADPOINTSF()
                    raw.FPDFAnnot_GetAttachmentPoints(mark, line, box)
                    words.append(text.get_text_bounded(box.x3, box.y3, box.x2, box.y2))
                note = (raw.FPDF_WCHAR * 500)()
                size = raw.FPDFAnnot_GetStringValue(mark, b"Contents", note, 1000)
                found.append((number, " ".join(words), bytes(note)[: size - 2].decode("utf-16")))
    return found


def commented(path: Path) -> list[tuple[str, str]]:
    """The words and the text of every comment."""
    file = docx.Document(path)
    found = []
    for comment in file.comments:
        inside, words = False, ""
        for element in file.element.body.iter():
            if element.get(docx.oxml.ns.qn("w:id")) == str(comment.comment_id):
                inside = element.tag.endswith("RangeStart")
            words += element.text or "" if inside and element.tag.endswith("}t") else ""
        found.append((words, comment.text))
    return found


def test_a_copy_of_a_pdf_has_highlights_and_the_original_does_not(run: Run, files: Path) -> None:
    before = (files / "a.pdf").read_bytes()
    done = mine(run, "marked.pdf", "--filter", "_id=a.pdf")
    assert (done.exit_code, done.stderr) == (0, "marked.pdf: 1 of 1 hits marked\n")
    [(page, words, note)] = highlighted(Path("marked.pdf"))
    assert (page, words) == (3, PHRASE)
    assert note.startswith(f"“{PHRASE}”\nprobability ")
    assert (files / "a.pdf").read_bytes() == before
    assert Path("marked.pdf").read_bytes().startswith(before)


def test_highlights_lie_on_their_words(run: Run, store: Path, encoder: SpanEncoder) -> None:
    with Corpus(store, encoder) as corpus:
        text = corpus.text("a.pdf")
    assert mine(run, "hits.jsonl", "--filter", "_id=a.pdf").exit_code == 0
    [line] = Path("hits.jsonl").read_text().splitlines()
    words = [found.span() for found in re.finditer(r"\S+", text)]
    spans = [(start, end) for start, _ in words for _, end in words if start < end]
    lines = (
        json.dumps({**json.loads(line), "start": start, "end": end, "text": text[start:end]})
        for start, end in spans
    )
    Path("all.jsonl").write_text("\n".join(lines))
    assert run("report", "all.jsonl", "-o", "all.pdf").exit_code == 0
    found = sorted("".join(words.split()) for _, words, _ in highlighted(Path("all.pdf")))
    first = text.index(SAYING)  # where another page begins, and so another highlight
    edges = [
        sorted({start, *({first} if start < first < end else ()), end}) for start, end in spans
    ]
    expected = (text[a:b] for cut in edges for a, b in pairwise(cut))
    assert found == sorted("".join(words.split()) for words in expected)


def test_highlights_lie_on_turned_lines(run: Run, tmp_path: Path) -> None:
    lines = ["Either party may end this", "agreement at any time."]
    shown = " T* ".join(f"({line}) Tj" for line in lines)
    content = (
        f"BT /F 12 Tf 14 TL 0 -1 1 0 300 700 Tm {shown} ET BT /F 12 Tf 72 99 Td ({OTHER}) Tj ET"
    )
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R"
        "/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>",
        f"<</Length {len(content)}>>\nstream\n{content}\nendstream",
    ]
    (tmp_path / "turned.pdf").write_bytes(pdf_of(objects))
    assert run("ingest", tmp_path / "turned.pdf").exit_code == 0
    assert run("search", lines[0], "--filter", "_id=turned.pdf", "-o", "hits.jsonl").exit_code == 0
    both = {"start": 0, "end": len(" ".join(lines)), "text": "\n".join(lines)}
    line = Path("hits.jsonl").read_text().splitlines()[0]
    Path("both.jsonl").write_text(json.dumps({**json.loads(line), **both}))
    assert run("report", "both.jsonl", "-o", "both.pdf").exit_code == 0
    [(_, words, _)] = highlighted(Path("both.pdf"))
    assert words.split() == " ".join(lines).split()


def test_a_copy_of_a_word_file_has_comments_at_the_words(run: Run, files: Path) -> None:
    assert mine(run, "marked.docx", "--filter", "_id=b.docx").exit_code == 0
    assert [words for words, _ in commented(Path("marked.docx"))] == [PHRASE, PHRASE]
    texts = [
        [paragraph.text for paragraph in docx.Document(path).paragraphs]
        for path in (files / "b.docx", Path("marked.docx"))
    ]
    assert texts[0] == texts[1]


def test_what_comes_again_and_again_has_a_comment_each(
    tmp_path: Path, encoder: SpanEncoder
) -> None:
    file = docx.Document()
    for _ in range(60):
        file.add_paragraph(SAYING)
    (tmp_path / "a.docx").write_bytes(saved(file.save))
    with Corpus(tmp_path / "store", encoder) as corpus:
        corpus.ingest([tmp_path / "a.docx"])
        hits = list(corpus.mine(PHRASE, threshold=0.8))
        write_marked(hits, tmp_path / "b.docx", lambda doc_id: find_original(corpus.store, doc_id))
    assert len(hits) > 10
    assert [words for words, _ in commented(tmp_path / "b.docx")] == [hit.text for hit in hits]


def test_what_word_files_hold_beside_paragraphs(run: Run, tmp_path: Path) -> None:
    space = docx.oxml.ns.nsdecls("w")
    file = docx.Document()
    file.sections[0].header.paragraphs[0].text = SAYING
    inserted = file.add_paragraph("I want to ")
    inserted._p.append(
        docx.oxml.parse_xml(
            f'<w:ins {space} w:id="9" w:author="A"><w:r><w:t>cancel my </w:t></w:r></w:ins>'
        )
    )
    inserted.add_run("subscription.")
    boxed = file.add_paragraph("A box: ")
    boxed._p.append(
        docx.oxml.parse_xml(
            f"<w:r {space}><w:pict><w:txbxContent><w:p><w:r><w:t>{SAYING}</w:t></w:r></w:p>"
            "</w:txbxContent></w:pict></w:r>"
        )
    )
    file.save(tmp_path / "more.docx")
    command = "scan", "more.docx", "-p", PHRASE, "--threshold", 0.8, "-o", "marked.docx"
    done = run(*command, "--page-edges")
    assert "2 of 3 hits marked; the others are in footnotes, headers or the like" in done.stderr
    words = [words for words, _ in commented(Path("marked.docx"))]
    assert words == [PHRASE, SAYING]  # a comment cannot begin in a text box
    assert run("ingest", "more.docx", "--page-edges").exit_code == 0
    again = mine(run, "again.docx", "--filter", "_id=more.docx")
    assert "2 of 3 hits marked" in again.stderr


def test_hits_in_several_files_need_a_folder(run: Run, tmp_path: Path) -> None:
    one = mine(run, "marked.pdf")
    assert one.exit_code == 1
    assert "hits are in 4 documents; name a folder (marked/) for a copy of each" in str(
        one.exception
    )
    assert not Path("marked.pdf").exists()
    many = mine(run, "marked/")
    assert many.exit_code == 0
    copies = ["a.pdf", "b.docx"]
    made = sorted(path.name for path in Path("marked").iterdir())
    assert made == sorted([*copies, *(f"{name}.run.json" for name in copies)])
    assert many.stderr.splitlines() == [
        "marked/a.pdf: 1 of 1 hits marked",
        "marked/b.docx: 2 of 2 hits marked",
        "c.txt: 0 of 1 hits marked; c.txt is no PDF or Word file; only those get marks",
        "program: 0 of 1 hits marked; has no file; a program added it",
    ]


def test_a_copy_that_is_not_made_says_why_beside_its_document(
    store: Path, encoder: SpanEncoder, tmp_path: Path
) -> None:
    (tmp_path / "marked").mkdir()
    with Corpus(store, encoder) as corpus:
        hits = corpus.mine(PHRASE, threshold=0.8, where={"_id": "program"})
        (copy,) = write_marked(hits, tmp_path / "marked", partial(find_original, corpus.store))
    assert (copy.doc_id, copy.why) == ("program", "has no file; a program added it")


@pytest.mark.parametrize("change", ["gone", "changed", "a link"])
def test_a_file_that_is_not_as_it_was_is_told(run: Run, files: Path, change: str) -> None:
    path = files / "a.pdf"
    content = path.read_bytes()
    path.unlink()
    if change == "changed":
        path.write_bytes(content.replace(b"takes", b"makes"))
    elif change == "a link":
        (files / "hidden").write_bytes(content)
        path.symlink_to(files / "hidden")
    why = "changed since it was read" if change == "changed" else "gone"
    done = mine(run, "marked.pdf", "--filter", "_id=a.pdf")
    assert done.exit_code == 1
    assert f"a.pdf: {why}" in str(done.exception)
    assert mine(run, "report.html").exit_code == 0
    page = Path("report.html").read_text()
    assert f"a.pdf: {why}" in page
    assert "<image" not in page


def test_a_report_shows_the_pages_that_have_hits(run: Run) -> None:
    pytest.importorskip("PIL")
    assert mine(run, "report.html").exit_code == 0
    page = Path("report.html").read_text()
    [image] = re.findall(r'<image href="data:image/webp;base64,([^"]+)"', page)
    assert base64.b64decode(image).startswith(b"RIFF")
    assert "a.pdf, page 3" in page
    assert len(re.findall(r"<g><title>a.pdf:[\d-]+</title>\n<rect x=", page)) == 1
    hits = mine(run, "hits.jsonl")
    assert hits.exit_code == 0
    again = run("report", "hits.jsonl", "-o", "again.html")
    assert again.exit_code == 0
    assert "<image" in Path("again.html").read_text()
    assert run("report", "hits.jsonl", "-o", "out/").exit_code == 0
    assert Path("out/b.docx").exists()


def test_files_are_marked_without_a_store(run: Run, files: Path) -> None:
    found = run("scan", files / "a.pdf", "-p", PHRASE, "--threshold", 0.8, "-o", "scanned.pdf")
    assert found.exit_code == 0
    assert len(highlighted(Path("scanned.pdf"))) == 1


def test_show_prints_the_text_exactly(run: Run, store: Path, encoder: SpanEncoder) -> None:
    with Corpus(store, encoder) as corpus:
        long = "\n".join(f"Line {number} of many." for number in range(500))
        corpus.add([Document("long", long)])
        assert run("show", "a.pdf").stdout == corpus.text("a.pdf") + "\n"
    at = long.index("Line 250 ")
    shown = run("show", "long", "--at", at)
    start, end = (int(one.replace(",", "")) for one in re.findall(r"[\d,]+", shown.stderr)[:2])
    assert shown.stdout == long[start:end] + "\n"
    assert start < at < end
    assert shown.stdout.startswith("Line")
    assert run("show", "nothing").exit_code == 1
    assert "has 8889 characters" in run("show", "long", "--at", 9000).stderr
