"""Documents, archives and tables of any kind are read by what they are; what is not says why."""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
import tarfile
import zipfile
from collections.abc import Callable
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import orjson
import pytest

from slice_os import Corpus, SpanEncoder
from slice_os.ingest import apart
from slice_os.ingest.formats import format_of, reader_named
from slice_os.ingest.readers import BadRecord, ReadNote, ReadOptions, SkippedFile, archives
from slice_os.ingest.readers.reader import NO_MEMORY
from slice_os.ingest.reading import read_stream
from slice_os.text.documents import Document

from .builders import only, pair
from .command_line import Run
from .many_formats import (
    OTHER,
    SAYING,
    columnar,
    docx,
    eml,
    pdf,
    reviewed_docx,
    saved,
    tarred,
    write_many,
    xlsx,
    zipped,
)
from .soak import fuzz

Found = list[Document | BadRecord]


def read(name: str, content: bytes, *, seekable: bool = True, **options: Any) -> Found:
    stream = io.BytesIO(content)
    if not seekable:
        stream.seekable = lambda: False  # type: ignore[method-assign]
    return list(read_stream("s", name, stream, ReadOptions(**options)))


def reason(found: Found) -> str:
    bad = only(BadRecord, found)
    assert "\n" not in bad.reason
    return bad.reason


def need_libraries() -> None:
    for library in ("docx", "pypdfium2", "openpyxl", "olefile", "pyarrow", "lxml", "pptx"):
        pytest.importorskip(library)


@pytest.mark.slow
def test_a_folder_of_everything(tmp_path: Path, encoder: SpanEncoder) -> None:
    need_libraries()
    folder = tmp_path / "files"
    folder.mkdir()
    expected = write_many(folder)
    assert len(list(folder.iterdir())) >= 25
    (folder / "scan.pdf").write_bytes(pdf("", ""))
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n")
    told: list[BadRecord] = []
    with Corpus(tmp_path / "store", encoder) as corpus:
        summary = corpus.ingest([folder], complain=told.append)
        hits = corpus.search("please end my subscription", top_k=100, threshold=0.6)
        assert [(Path(one.source).name, one.reason) for one in told] == [
            ("scan.pdf", "no text in it; if it is a scan, recognise its text first")
        ]
        assert summary.sources == len(expected) + 1
        found = {hit.doc_id.removeprefix(f"{folder}/"): hit for hit in hits}
        assert expected.keys() <= found.keys()
        for doc_id, shown in expected.items():
            hit = found[doc_id]
            assert "cancel" in hit.text
            assert shown.items() <= hit.metadata.items(), doc_id
            assert corpus.text(hit.doc_id)[hit.start : hit.end] == hit.text


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("pdf", b"", "empty"),
        ("pdf", b"%PDF-1.4\nrubbish", "damaged, or of another format"),
        ("docx", b"PK\x03\x04rubbish", "damaged, or of another format"),
        ("zip", b"PK\x03\x04rubbish", "damaged"),
        ("xlsx", b"rubbish", "damaged, or of another format"),
        ("html", b"<html></html>", "no text in it"),
        ("eml", b"rubbish", "not an e-mail"),
        ("rtf", b"rubbish", "not an RTF file"),
        ("msg", b"rubbish", "not an Outlook message"),
        ("msg", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rubbish", "damaged, or of another format"),
        ("parquet", b"PAR1rubbish", "Parquet"),
        ("arrow", b"ARROW1rubbish", "too small"),
        ("gz", b"\x1f\x8brubbish", "damaged archive"),
        ("tar", b"rubbish", "damaged archive"),
        ("epub", b"rubbish", "damaged"),
    ],
)
def test_what_cannot_be_read_says_why(name: str, content: bytes, why: str) -> None:
    need_libraries()
    assert why in reason(read(name, content))


@pytest.mark.parametrize("name", ["parquet", "arrow", "stream", "zip"])
def test_a_bit_that_is_flipped_anywhere_is_told_or_read_over(name: str) -> None:
    """Libraries that read damage without a check may even end the process."""
    need_libraries()
    content = zipped({"a.txt": SAYING.encode()}) if name == "zip" else columnar(name)
    for place in range(0, 8 * len(content), 13):
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        for record in read("arrow" if name == "stream" else name, bytes(changed)):
            assert isinstance(record, Document) or "\n" not in record.reason


@pytest.mark.parametrize(
    ("inside", "told"),
    [("META-INF/manifest.xml", "OpenDocument"), ("Index/Document.iwa", "Apple iWork")],
)
def test_documents_of_other_programs_say_what_to_do(inside: str, told: str) -> None:
    content = zipped({"mimetype": b"x", inside: b"words", "a.txt": b"words"})
    for name in ("zip", "text"):
        assert f"{told} file; " in reason(read(name, content))
        assert "as .docx" in reason(read(name, content))


def test_encrypted_files_say_so() -> None:
    need_libraries()
    locks = "/Filter /Standard /V 1 /R 2 /P -4"
    keys = f"/O <{'0' * 64}> /U <{'0' * 64}>"
    locked = f"/Root 1 0 R /ID [<00> <00>] /Encrypt << {locks} {keys} >>"
    content = pdf(SAYING).replace(b"/Root 1 0 R", locked.encode())
    assert reason(read("pdf", content)) == "encrypted; save it without a password"
    packed = bytearray(zipped({"a.txt": b"text"}))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        packed[packed.index(signature) + offset] |= 1
    assert reason(read("zip", bytes(packed))) == "encrypted; save it without a password"


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for name, extra in (("pdf", "documents"), ("parquet", "tables")):
        (bad,) = reader_named(name).load()("s", io.BytesIO(pdf(SAYING)), ReadOptions())
        assert f"pip install 'slice-os[{extra}]'" in reason([bad])


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        ("SECONDS", "takes more than 0 seconds"),
        pytest.param("MEMORY", "memory", marks=pytest.mark.release),
    ],
)
def test_a_file_has_a_budget(monkeypatch: pytest.MonkeyPatch, limit: str, told: str) -> None:
    need_libraries()
    for name in (limit, f"{limit}_PER_MIB", f"{limit}_PER_BYTE"):
        monkeypatch.setattr(apart, name, {"MEMORY": 200 << 20}.get(name, 0), raising=False)
    page = b"<p>I want to end it." * 400_000
    assert told in reason(read("html", page))
    monkeypatch.undo()
    assert only(Document, read("html", page[:20]))


@pytest.mark.skipif(os.name != "posix", reason="needs limits")
def test_a_process_with_a_thousand_open_files_reads_on() -> None:
    import resource

    need_libraries()
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (2_048, max(limits[1], 2_048)))
    opened: list[int] = []
    try:
        apart._idle.clear()  # its pipes have low numbers
        opened += (os.open(os.devnull, os.O_RDONLY) for _ in range(1_024))
        assert only(Document, read("html", b"<p>I want to end it."))
    finally:
        for one in opened:
            os.close(one)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.parametrize(
    ("name", "content"),
    [("csv", b"text\n"), ("json", b"[]"), ("zip", zipped({})), ("tar", tarred({}))],
)
def test_a_file_with_nothing_in_it_is_skipped(name: str, content: bytes) -> None:
    skipped = only(SkippedFile, read(name, content))
    assert skipped.reason == "nothing in it"


def test_every_damaged_file_ends_as_documents_as_bad_records_or_as_skipped() -> None:
    need_libraries()
    ends, bad, longest = fuzz.run(300)
    assert bad == []
    assert ends["documents"] > 30
    assert longest < fuzz.PATIENCE


def test_a_word_file_is_read_as_its_last_author_sees_it() -> None:
    content = reviewed_docx()
    document, note = pair(Document, ReadNote, read("docx", content))
    lines = {
        document.text[one.start : one.end]: one.fields.get("part") for one in document.segments
    }
    assert list(lines.items()) == [
        ("Either party may not end it.", None),
        ("Below the page", "footnote"),
        ("In a box", "text box"),
        ("Behind the text", "endnote"),
        ("In a control", None),
        ("Fee\t42", None),
    ]
    assert note.counts == {
        "comments left out": 1,
        "headers left out": 1,
        "footers left out": 1,
        "insertions": 2,
        "deletions left out": 2,
        "footnotes": 1,
        "text boxes": 1,
        "endnotes": 1,
    }
    whole, _ = read("docx", content, page_edges=True)
    assert isinstance(whole, Document)
    assert whole.text == f"On top\n{document.text}\nAt the foot"


def test_pages_that_are_images_are_told(run: Run) -> None:
    need_libraries()
    Path("half.pdf").write_bytes(pdf(SAYING, *[""] * 5))
    Path("whole.pdf").write_bytes(pdf(SAYING))
    status, _, told = run("ingest", "half.pdf", "whole.pdf", "--store", "store")
    assert status == 0
    assert "half.pdf: 5 of 6 pages are images; recognise their text first\n" in told
    assert "in these files: pages that are images: 5\n" in told
    assert "whole.pdf" not in told


def test_turns_without_words_are_counted(tmp_path: Path, encoder: SpanEncoder) -> None:
    rows = "call,who,text\n7,A,Hi\n7,B,\n7,A,  \n8,A,\n"
    (tmp_path / "turns.csv").write_text(rows)
    with Corpus(tmp_path / "store", encoder) as corpus:
        options = ReadOptions(group_by="call", speaker_field="who")
        summary = corpus.ingest([tmp_path / "turns.csv"], options=options)
        assert (summary.documents, summary.bad_records) == (1, 0)
        assert summary.notes == {"empty turns": 3}


class TestArchives:
    def test_a_cut_archive_says_so(self) -> None:
        content = tarred({"a.txt": b"text", "b.txt": b"text"})
        whole = read("tar", content)
        assert [one.text for one in whole if isinstance(one, Document)] == ["text", "text"]
        assert len(whole) == 2
        for end in range(0, 2_048, 256):
            *_, bad = read("tar", content[:end])
            assert isinstance(bad, BadRecord)
            assert "a damaged archive: " in bad.reason

    def test_names_have_the_encoding_that_they_were_written_in(self) -> None:
        packed = zipped({"Mxxrz.txt": b"text", "Über.txt": b"text"})
        found = read("zip", packed.replace(b"Mxxrz", "März".encode()))
        names = [one.id.partition("/")[2] for one in found if isinstance(one, Document)]
        assert names == ["März.txt", "Über.txt"]
        for raw, name in ((b"M\xe4rz.txt", "März.txt"), ("März.txt".encode(), "März.txt")):
            packed = tarred({raw.decode("utf-8", "surrogateescape"): b"text"})
            assert only(Document, read("tar", packed)).id.endswith(f"/{name}")

    def test_links_are_counted(self) -> None:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as archive:
            link = tarfile.TarInfo("a.txt")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/hosts"
            archive.addfile(link)
        packed = io.BytesIO()
        entry = zipfile.ZipInfo("a.txt")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        with zipfile.ZipFile(packed, "w") as archive_of_files:
            archive_of_files.writestr(entry, "/etc/hosts")
        for name, content in (("tar", out), ("zip", packed)):
            skipped = only(SkippedFile, read(name, content.getvalue()))
            assert skipped.kind == "link in s"

    def test_a_size_beyond_all_bounds_ends_an_archive(self) -> None:
        out = io.BytesIO()
        entry = tarfile.TarInfo("a.txt")
        entry.pax_headers = {"size": "9" * 20}
        with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
            archive.addfile(entry)
        assert "a.txt tells 99,999," in reason(read("tar", out.getvalue()))

    @pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.html", "a.mbox"])
    def test_damage_behind_the_beginning_of_a_file_is_that_of_the_archive(self, name: str) -> None:
        lines = "text\n" + "".join(f"{number**9}\n" for number in range(20_000))
        content = bytearray(zipped({name: lines.encode(), "b.txt": SAYING.encode()}))
        content[-len(content) // 4] ^= 0xFF
        *_, bad, whole = read("zip", bytes(content))
        assert reason([bad]).startswith("a damaged archive: ")
        assert only(Document, [whole]).text == SAYING

    def test_damaged_lzma_says_so(self) -> None:
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_LZMA) as archive:
            archive.writestr("a.txt", SAYING)
            archive.writestr("b.txt", SAYING)
        content = bytearray(packed.getvalue())
        content[content.index(b"a.txt") + 9] ^= 0xFF  # its properties
        bad, whole = pair(BadRecord, Document, read("zip", bytes(content)))
        assert "a damaged archive: " in bad.reason
        assert whole.text == SAYING

    def test_a_packed_file_that_needs_much_memory_says_so(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def no_room(_self: zipfile.ZipExtFile, _most: int = -1) -> bytes:
            raise MemoryError

        monkeypatch.setattr(zipfile.ZipExtFile, "read", no_room)
        assert reason(read("zip", zipped({"a.txt": b"text"}))) == NO_MEMORY

    def test_bombs_are_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(archives, "LONGEST_UNPACKED", 1 << 20)
        zeros = b"0" * (1 << 22)
        for name, content in (
            ("text", gzip.compress(zeros)),
            ("zip", zipped({"a.txt": zeros})),
            ("docx", zipped({"word/document.xml": b"0" * (1 << 28), "b": b"0"})),
        ):
            assert "unpacks to more than" in reason(read(name, content))

    @pytest.mark.parametrize("pack", [zipped, tarred])
    def test_what_nested_archives_unpack_to_is_bounded_in_all(
        self, monkeypatch: pytest.MonkeyPatch, pack: Callable[[dict[str, bytes]], bytes]
    ) -> None:
        monkeypatch.setattr(archives, "LONGEST_UNPACKED", 1 << 20)
        inner = gzip.compress(pack({f"{n}.txt": b"word " * (1 << 15) for n in range(2)}))
        name = "zip.gz" if pack is zipped else "tgz"
        found = read("zip", zipped({f"{n}.{name}": inner for n in range(8)}))
        texts = [one for one in found if isinstance(one, Document)]
        assert 1 <= len(texts) <= 6
        assert all("unpacks to more than" in one.reason for one in found[len(texts) :])
        assert len(texts) < len(found) <= len(texts) + 3

    def test_how_many_files_nested_archives_have_is_bounded(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(archives, "_USUAL_UNPACKED", 1 << 20)
        content = zipped({f"{n}.txt": b"" for n in range(20)})
        for _ in range(2):
            content = zipped({f"{n}.zip": content for n in range(20)})
        monkeypatch.setattr(archives, "_TIMES", 1)
        found = read("zip", content)
        assert len(found) < 300
        assert "unpacks to more than 1 MiB, with 4 KiB more for each file" in reason(found[-1:])

    @pytest.mark.slow
    def test_how_long_files_of_an_archive_take_is_bounded(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        need_libraries()
        monkeypatch.setattr(apart, "SECONDS", 0)
        monkeypatch.setattr(apart, "SECONDS_PER_MIB", 0)
        monkeypatch.setattr(archives, "LONGEST_UNPACKED", 100 << 20)
        files = {"a.html": b"<p>I want to end it." * 200_000, "b.txt": b"b", "c.txt": b"c"}
        slow, refused = read("zip", zipped(files))
        assert "takes more than 0 seconds" in reason([slow])
        assert "128 MiB for each that takes too long" in reason([refused])

    def test_archives_within_archives_end(self) -> None:
        content = b"text"
        for _ in range(9):
            content = gzip.compress(content)
        assert "an archive within an archive" in reason(read("gz", content))

    def test_files_without_reader_are_told(self) -> None:
        found = read("zip", zipped({"a.txt": b"text", "b.png": b"\x89PNG"}))
        assert isinstance(found[0], Document)
        assert (found[0].id, found[0].source) == ("s/a.txt", "s")
        assert found[1:] == [
            SkippedFile("s/b.png", None, "no reader has such files", "", ".png in s")
        ]

    @pytest.mark.parametrize("pack", [zipped, tarred])
    def test_hidden_files_are_left_out(self, pack: Callable[[dict[str, bytes]], bytes]) -> None:
        name = "zip" if pack is zipped else "tar"
        hidden = dict.fromkeys(
            ["in/.DS_Store", ".git/a.txt", "__MACOSX/in/._a.txt", "~$a.docx"], b"\0\5\x16"
        )
        found = read(name, pack(hidden | {"./in/a.txt": b"text", "../b.txt": b"text"}))
        ids = [one.id for one in found if isinstance(one, Document)]
        assert ids == ["s/./in/a.txt", "s/../b.txt"]
        assert len(found) == 2
        assert reason(read(name, pack(hidden))) == "nothing in it"

    @pytest.mark.parametrize(
        ("encoding", "names"),
        [
            ("utf-8", ["Größe.txt", "契約書.txt"]),
            ("cp437", ["Angebot für Müller.txt", "Größe.txt", "Übersicht.txt"]),
            ("cp850", ["À propos.txt", "São Paulo.txt", "Ações.txt"]),
            ("cp1252", ["Kündigung von Müller.txt", "Größe.txt", "plain.txt"]),
            ("cp866", ["Договор с клиентом.txt", "отчёт 2026.txt", "ПРОТОКОЛ.txt"]),
        ],
    )
    def test_names_that_no_flag_says_the_encoding_of(self, encoding: str, names: list[str]) -> None:
        pytest.importorskip("chardet")
        marks = {f"{number:04}" * 16: name for number, name in enumerate(names)}
        content = zipped(
            dict.fromkeys((m[: len(n.encode(encoding))] for m, n in marks.items()), b"a")
        )
        for mark, name in marks.items():
            raw = name.encode(encoding)
            content = content.replace(mark[: len(raw)].encode(), raw)
        found = read("zip", content)
        assert [one.id for one in found if isinstance(one, Document)] == [f"s/{n}" for n in names]

    @pytest.mark.parametrize("seekable", [True, False])
    def test_streams_that_cannot_be_searched(self, seekable: bool) -> None:
        for name, content in (
            ("text", zipped({"a.txt": SAYING.encode()})),
            ("tar", tarred({"a.txt": SAYING.encode()})),
            ("text", gzip.compress(SAYING.encode())),
            ("text", SAYING.encode()),
        ):
            document = only(Document, read(name, content, seekable=seekable))
            assert document.text == SAYING


def test_a_name_does_not_hide_what_a_file_is(tmp_path: Path) -> None:
    pytest.importorskip("docx")
    for name, content, kind in (
        ("a.bin", pdf(SAYING), "pdf"),
        ("noname", docx(), "zip"),
        ("b.bin", b"text", None),
    ):
        (tmp_path / name).write_bytes(content)
        assert format_of(tmp_path / name) == kind
    document = only(Document, read("text", docx()))
    assert document.text == f"Intro\n{OTHER}\nEnding\n{SAYING}\n42"


def test_sheets_are_tables_with_turns_too() -> None:
    rows = [("call", "who", "text"), (7, "A", "Hi"), (7, "B", "Yes")]
    document = only(Document, read("xlsx", xlsx(*rows), group_by="call", speaker_field="who"))
    assert (document.id, [one.speaker for one in document.segments]) == ("7", ["A", "B"])


def test_a_sheet_whose_columns_share_a_name_is_refused_as_a_table_is() -> None:
    book = pytest.importorskip("openpyxl").Workbook()
    for row in (("id", "text", "text"), (1, OTHER, SAYING)):
        book.active.append(row)
    other = book.create_sheet("Other")
    for row in (("text", None, None), (SAYING, 1, 2)):
        other.append(row)
    note, bad, document = read("xlsx", saved(book.save))
    assert reason([note]) == "cells of columns without a name left out: 2"
    told = "two columns share a name in the header row: 'id', 'text', 'text'"
    assert reason([bad]) == reason(read("csv", b"id,text,text\n1,a,b\n")) == told
    assert isinstance(document, Document)
    assert (document.text, document.metadata) == (SAYING, {"sheet": "Other"})


@pytest.mark.parametrize(
    ("name", "kind"), [("parquet", "parquet"), ("arrow", "arrow"), ("arrow", "stream")]
)
def test_a_number_that_is_missing_in_a_row_is_left_out(name: str, kind: str) -> None:
    rows = read(name, columnar(kind, score=[float("nan"), 0.5]))
    assert [one.metadata for one in rows if isinstance(one, Document)] == [{}, {"score": 0.5}]


@pytest.mark.parametrize(
    ("name", "kind"), [("parquet", "parquet"), ("arrow", "arrow"), ("arrow", "stream")]
)
def test_a_column_of_turns_is_as_in_json_lines(name: str, kind: str) -> None:
    turns = [{"role": "user", "content": SAYING}, {"role": "assistant", "content": OTHER}]
    lines = b"".join(
        orjson.dumps({"id": f"{kind}-{number}", "messages": turns[number:]}) + b"\n"
        for number in range(2)
    )
    rows = read(name, columnar(kind, text=[], messages=[turns, turns[1:]]))
    assert rows == read("jsonl", lines)
    first, _ = pair(Document, Document, rows)
    assert [segment.speaker for segment in first.segments] == ["user", "assistant"]
    (told,) = read(name, columnar(kind, text=[], n=[1, 2]))
    assert reason([told]).startswith("no column 'text' in the header row")


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ('\ufeff<meta charset="latin-1">', "utf-8"),
        ('\ufeff<meta charset="latin-1">', "utf-16-le"),
        ('\ufeff<meta charset="latin-1">', "utf-16-be"),
        ('<meta charset="latin-1">', "cp1252"),
        ('<meta charset="ISO-8859-1">', "cp1252"),
        ("<meta http-equiv=Content-Type content='text/html; charset=us-ascii'>", "cp1252"),
        ('<meta charset="utf-16">', "utf-8"),
        ('<meta charset="gb2312">', "gb18030"),
        ('<meta charset="nonsense">', "utf-8"),
        ('<?xml version="1.0" encoding="iso-8859-15"?>', "iso-8859-15"),
    ],
)
def test_a_page_has_the_encoding_that_browsers_read(head: str, encoding: str) -> None:
    pytest.importorskip("lxml")
    document = only(Document, read("html", f"{head}<p>Café, 5 €</p>".encode(encoding)))
    assert document.text == "Café, 5 €"


def test_bad_bytes_of_a_page_spoil_no_others() -> None:
    pytest.importorskip("lxml")
    document, note = pair(
        Document, ReadNote, read("html", b'<meta charset="euc-jp"><p>a\xff\xffb</p><p>c</p>')
    )
    assert document.text == "a\ufffd\ufffdb\nc"
    assert note.counts == {"characters that could not be read": 2}


@pytest.mark.parametrize(
    ("letter", "text"),
    [
        (b"Subject: caf\xc3\xa9\n\nPlease cancel.", "café\nPlease cancel."),
        (b"Subject: The caf\xe9\n\nThe caf\xc3\xa9", "The café\nThe café"),
        (b"Subject: =?utf-8?Q?caf=E9?= caf\xc3\xa9\n\nx", "café café\nx"),
        (b"Subject: =?x-unknown?Q?caf=C3=A9?=\n\nx", "café\nx"),
        (b"Subject: a\n =?utf-8?Q?caf=C3?=\n =?utf-8?Q?=A9_so??= b\n c\n\nx", "a café so? b c\nx"),
        (b"Subject: =?utf-8?B?a?= b\n\nx", "=?utf-8?B?a?= b\nx"),
        (b"Subject: a\nDate: Mon, 1 Jan 2020 00:00 +9999999999999999\n\nx", "a\nx"),
        (b"Subject: a\nContent-Type: text/plain; charset=x-user-defined\n\ncaf\xc3\xa9", "a\ncafé"),
    ],
)
def test_a_letter_is_read_however_it_is_written(letter: bytes, text: str) -> None:
    document = only(Document, read("eml", letter))
    assert document.text == text
    assert document.metadata["subject"] == text.partition("\n")[0]


def test_a_sender_may_have_an_unknown_encoding() -> None:
    document = only(Document, read("eml", b"From: =?x-unknown?Q?Ann?= <ann@example.org>\n\nHi"))
    assert document.metadata["from"] == "Ann <ann@example.org>"


def test_a_letter_whose_plain_text_is_blank_has_that_of_its_page() -> None:
    need_libraries()
    mail = EmailMessage()
    mail["Subject"] = "Hi"
    mail.set_content(" \n")
    mail.add_alternative(f"<p>{SAYING}</p>", subtype="html")
    document = only(Document, read("eml", mail.as_bytes()))
    assert document.text == f"Hi\n{SAYING}"


def test_mail_names_its_attachments() -> None:
    document, skipped = pair(Document, SkippedFile, read("eml", eml()))
    assert document.text == f"My plan\n{SAYING}"
    assert document.metadata["attachments"] == "a.png"
    assert skipped.kind == ".png in s"


def test_what_is_attached_to_a_mail_is_read() -> None:
    forwarded = message_from_bytes(eml(), policy=policy.default)
    mail = EmailMessage()
    mail["Subject"] = "Fwd"
    mail.set_content("See below")
    mail.add_attachment(forwarded)
    for text in (OTHER, SAYING):
        mail.add_attachment(text.encode(), maintype="text", subtype="plain", filename="a b.txt")
    found = read("eml", mail.as_bytes())
    texts = {one.id: one.text for one in found if isinstance(one, Document)}
    assert texts == {
        "s": "Fwd\nSee below",
        "s/attachment.eml": f"My plan\n{SAYING}",
        "s/a b.txt": OTHER,
        "s/a b-2.txt": SAYING,
    }
    assert [one.source for one in found if isinstance(one, SkippedFile)] == [
        "s/attachment.eml/a.png"
    ]
    assert found[0].metadata["attachments"] == "attachment.eml, a b.txt, a b-2.txt"


def in_word(paragraphs: list[str]) -> Document:
    book = pytest.importorskip("docx").Document()
    for paragraph in paragraphs:
        book.add_paragraph(paragraph)
    return only(Document, read("docx", saved(book.save)))


@pytest.mark.parametrize(
    "paragraphs",
    [
        ["Weekly\nJune 1", f"\nAnn Lee   0:03\n{SAYING}", f"\nBo Ek   1:02:05\n{OTHER}"],
        ["Weekly\nJune 1", "Ann Lee   0:03", SAYING, "Bo Ek  1:02:05 ", OTHER],
        [
            "Weekly\nJune 1",
            f"0:0:3.0 --> 0:0:5.20\nAnn Lee\n{SAYING}",
            f"1:2:5.0 --> 1:2:9.5\nBo Ek\n{OTHER}",
        ],
    ],
)
def test_a_meeting_that_teams_saved_has_speakers_and_times(paragraphs: list[str]) -> None:
    document = in_word(paragraphs)
    title, *turns = document.segments
    assert title.speaker is None
    assert [(one.speaker, one.start_time, document.text[one.start : one.end]) for one in turns] == [
        ("Ann Lee", 3, SAYING),
        ("Bo Ek", 3725, OTHER),
    ]


def test_names_before_the_paragraphs_of_an_interview_are_speakers() -> None:
    book = pytest.importorskip("docx").Document()
    book.add_heading("Interview 7")
    talk = [("Interviewer", "Why do you leave?"), ("Respondent", f"Well: {SAYING}")] * 3
    for name, words in talk:
        book.add_paragraph(f"{name}: {words}")
    (document,) = read("docx", saved(book.save))
    assert isinstance(document, Document)
    found = [(one.speaker, document.text[one.start : one.end]) for one in document.segments]
    assert found == [(None, "Interview 7"), *talk]
    assert document.text == "\n".join(["Interview 7", *map(": ".join, talk)])


@pytest.mark.parametrize(
    "paragraphs",
    [
        ["Plan", "Lunch   12:30", "We meet at ten.", "We stay.", "We go."],
        ["Opening words   9:00", "We meet.", "Lunch   12:30", "The end   17:00"],
    ],
)
def test_a_document_with_times_in_it_is_no_meeting(paragraphs: list[str]) -> None:
    document = in_word(paragraphs)
    assert document.text == "\n".join(paragraphs)
    assert all(one.speaker is None for one in document.segments)
