"""Text files, JSON lines and tables become documents; bad records are reported."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slice_os.errors import InputError
from slice_os.ingest.formats import READERS, Reader
from slice_os.ingest.readers import BadRecord, ReadOptions
from slice_os.ingest.reading import read, read_stream
from slice_os.ingest.sources import Source, find_sources
from slice_os.text.documents import Document, Segment

from .builders import Read, read_all, write

REPOSITORY = Path(__file__).parents[1]
UNICODE = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def jsonl(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


class TestText:
    @pytest.mark.parametrize("name", ["a.txt", "a.md"])
    @pytest.mark.parametrize(
        "text", ["\ufeffHi\r\nthere\0\rend \n", "שלום 👩‍👩‍👧 e\u0301", " x\x85"]
    )
    def test_text_is_exactly_the_file(self, read_file: Read, name: str, text: str) -> None:
        assert read_file(name, text) == ([Document(name, text, source=name)], [])

    @pytest.mark.parametrize("content", ["", "\n \r\n\t", "\ufeff\n"])
    @pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.csv", "a.tsv", "a.vtt", "a.srt"])
    def test_empty(self, read_file: Read, name: str, content: str) -> None:
        documents, (bad,) = read_file(name, content)
        assert documents == []
        assert (bad.source, bad.line, bad.reason) == (name, None, "empty")

    @pytest.mark.parametrize("name", ["a.txt", "a.vtt", "a.srt"])
    def test_not_utf8(self, read_file: Read, name: str) -> None:
        documents, (bad,) = read_file(name, b"WEBVTT\nna\x81ve")
        assert documents == []
        assert bad.line == 2
        assert "byte 0x81 at byte 9" in bad.reason
        assert bad.record == "WEBVTT\nna\\x81ve"

    def test_encoded_surrogates_are_not_utf8(self, read_file: Read) -> None:
        _, (bad,) = read_file("a.txt", b"x\xed\xa0\x80")
        assert "not valid UTF-8" in bad.reason

    def test_long_records_are_shortened(self, read_file: Read) -> None:
        _, (bad,) = read_file("a.txt", b"x" * 20_000 + b"\x81")
        assert bad.record.startswith("x" * 10_000 + "… (20,004 characters")
        assert len(bad.record) < 10_050

    def test_standard_input(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stdin = io.BytesIO(b"a\r\nb")
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stdin))
        (source,) = find_sources(["-"])
        assert read_all(source) == ([Document("stdin", "a\r\nb", source="stdin")], [])
        assert not stdin.closed

    def test_standard_input_from_where_it_is(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stdin = io.BytesIO(b"read before\na line")
        stdin.readline()
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stdin))
        (source,) = find_sources(["-"])
        assert [document.text for document in read_all(source)[0]] == ["a line"]


class TestJsonLines:
    def test_fields(self, read_file: Read) -> None:
        metadata = {"agent": "Bo", "n": 3, "ok": True}
        content = "\ufeff" + jsonl(
            {"id": "a", "text": "Hi\r\n\0 there", **metadata, "x": None, "y": [1]},
            {"id": 7, "text": "seven", "share": 0.5},
        )
        documents, bad = read_file("calls.jsonl", content + "\n  \n" + jsonl({"text": "no id"}))
        assert bad == []
        assert documents == [
            Document("a", "Hi\r\n\0 there", metadata, source="calls.jsonl"),
            Document("7", "seven", {"share": 0.5}, source="calls.jsonl"),
            Document("calls.jsonl#5", "no id", source="calls.jsonl"),
        ]

    def test_chosen_fields(self, read_file: Read) -> None:
        content = jsonl({"key": "k", "body": "words", "text": "other", "a": 1, "b": 2})
        (document,), _ = read_file(
            "a.jsonl",
            content,
            id_field="key",
            text_field="body",
            metadata_fields=("a", "zz", "text"),
        )
        assert document == Document("k", "words", {"a": 1, "text": "other"}, source="a.jsonl")

    def test_a_title_comes_before_the_text_or_turns_and_may_be_alone(self, read_file: Read) -> None:
        turns = [{"speaker": "Bo", "text": "hi"}]
        content = jsonl(
            {"title": "It hangs", "text": "Since May."},
            {"title": "It stops", "text": None},
            {"title": " ", "text": "No title."},
            {"title": "A call", "text": turns},
            {"title": 3, "text": "x"},
            {"title": ""},
        )
        documents, bad = read_file("a.jsonl", content, title_field="title")
        assert [one.text for one in documents] == [
            "It hangs\n\nSince May.",
            "It stops\n\n",
            "No title.",
            "A call\n\nhi",
        ]
        assert documents[0].metadata == {"title": "It hangs"}
        (turn,) = documents[3].segments
        assert (documents[3].text[turn.start : turn.end], turn.speaker) == ("hi", "Bo")
        assert [one.reason.split(";")[0] for one in bad] == [
            "title field 'title' is an int",
            "field 'text' is missing or empty",
        ]

    def test_words_in_lists_and_objects_are_told_by_field(self, read_file: Read) -> None:
        message = {
            "text": "Please look",
            "blocks": [{"type": "rich_text", "elements": [{"text": "Please look "}]}],
            "attachments": [{"text": "Charged twice", "url": "https://a.b/c d"}],
            "tags": ["refund", "angry"],
            "users": ["U061F7AUR", "U2"],
            "vector": [0.1, 0.2],
        }
        turn = {"author": "Ann Lee", "content": [{"text": "Hi"}, {"input": {"q": "due when"}}]}
        content = jsonl(
            message, message, {"messages": [turn]}, {"text": "退款", "seen": ["退", "货"]}
        )
        documents, (note,) = read_file("a.jsonl", content)
        assert len(documents) == 4
        assert dict(part.split(" left out: ") for part in note.reason.split(", ")) == {
            "values of 'attachments.text'": "2",
            "values of 'tags'": "2",
            "values of 'messages.content'": "1",
            "values of 'seen'": "1",
        }
        assert read_file("b.jsonl", content, metadata_fields=())[1] == []
        _, (grouped,) = read_file("c.jsonl", jsonl({**message, "call": 1}), group_by="call")
        assert "'attachments.text'" in grouped.reason
        many = jsonl(*({"text": "hi", f"field{n}": {"x": "lost here"}} for n in range(30)))
        _, (few,) = read_file("d.jsonl", many)
        assert few.reason.endswith("'field7.x' left out: 1, values of other fields left out: 22")

    @pytest.mark.parametrize("start", ["", "\n", "\ufeff", " \n\n"])
    def test_a_file_named_json_may_have_lines_of_it(self, read_file: Read, start: str) -> None:
        lines = '{"text": "one"}\n{"text": \n\n{"id": "b", "text": "two"}\n'
        documents, (bad, note) = read_file("a.json", (start + lines).encode())
        assert [(one.id, one.text) for one in documents][1:] == [("b", "two")]
        assert "not valid JSON" in bad.reason
        assert note.reason == "this looks like JSON lines, and was read as such; name it .jsonl"

    def test_lines_of_json_have_the_encoding_of_their_file(self, read_file: Read) -> None:
        for name in ("cp1252", "utf-16"):
            content = '{"text": "café"}\n{"text": "naïve"}'.encode(name)
            documents, _ = read_file(f"{name}.json", content, encoding=name)
            assert [one.text for one in documents] == ["café", "naïve"]

    @pytest.mark.parametrize("content", [b"{\n} x", b'{"a":\n', b"[1]\n[2]", b"one\ntwo"])
    def test_other_json_that_is_none_is_refused(self, read_file: Read, content: bytes) -> None:
        documents, (bad,) = read_file("a.json", content)
        assert not documents
        assert bad.reason.startswith("not valid JSON")

    def test_requested_metadata_must_be_scalar(self, read_file: Read) -> None:
        content = jsonl(
            {"text": "a", "m": {"x": 1}}, {"text": "b", "m": None}, {"text": "c", "m": 1}
        )
        documents, (bad,) = read_file("a.jsonl", content, metadata_fields=("m",))
        assert [document.metadata for document in documents] == [{}, {"m": 1}]
        assert (bad.line, "'m' is a dict" in bad.reason) == (1, True)

    @pytest.mark.parametrize(
        ("line", "reason"),
        [
            (b"{", "not valid JSON"),
            (b'{"text": "x"} extra', "not valid JSON"),
            (b'{"text": NaN}', "not valid JSON"),
            (b"[" * 100_000, "not valid JSON"),
            (b'["text"]', "JSON list; give an object"),
            (b"null", "give an object"),
            (b"{}", "'text' is missing or empty; the record's fields are none"),
            (b'{"body": "x"}', "fields are 'body'; name the one with the text by --text-field"),
            (b'{"text": ""}', "missing or empty"),
            (b'{"text": " \\n"}', "missing or empty"),
            (b'{"text": null}', "missing or empty"),
            (b'{"text": []}', "missing or empty"),
            (b'{"text": 5}', "'text' is an int"),
            (b'{"text": {"a": 1}}', "'text' is a dict"),
            (b'{"text": "x", "id": 1.5}', "'id' is a float"),
            (b'{"text": "x", "id": true}', "'id' is a bool"),
            (b'{"text": "x", "id": ["a"]}', "'id' is a list"),
            (b'{"text": "x", "id": ""}', "'id' is empty"),
            (b'{"text": "a \\ud800 b"}', "surrogate"),
            (b'{"text": "ok", "name": "\\udc00"}', "surrogate"),
            (b'{"text": "na\x81ve"}', "not valid UTF-8: byte 0x81 at byte 12"),
            (b'{"text": [{"speaker": "A"}]}', "turn 1 has no text"),
            (b'{"text": ["a", 5]}', "turn 2 has no text"),
            (b'{"text": [{"text": "a", "start_time": "soon"}]}', "start_time of turn 1 is 'soon'"),
            (b'{"text": [{"text": "a", "end_time": "nan"}]}', "end_time of turn 1 is 'nan'"),
            (b'{"text": [{"text": "a", "speaker": []}]}', "speaker of turn 1 is a list"),
        ],
    )
    def test_a_bad_line_is_reported_and_reading_continues(
        self, read_file: Read, line: bytes, reason: str
    ) -> None:
        good = b'{"text": "good"}\n'
        documents, (bad,) = read_file("a.jsonl", good + line + b"\r\n" + good)
        assert [document.id for document in documents] == ["a.jsonl#1", "a.jsonl#3"]
        assert (bad.source, bad.line) == ("a.jsonl", 2)
        assert reason in bad.reason
        assert "\n" not in bad.reason
        if len(line) < 10_000:
            assert bad.record == line.decode("utf-8", "backslashreplace")

    def test_turns(self, read_file: Read) -> None:
        turns = [
            "Hello 😀",
            {"text": "I want to\r\ncancel", "speaker": "Caller", "start_time": 1, "end_time": 2.5},
            {"text": "  "},
            {"text": "Why?", "speaker": 2, "intent": "ask"},
        ]
        (document,), (note,) = read_file("a.jsonl", jsonl({"text": turns}))
        assert note.reason == "empty turns: 1"
        assert document.text == "Hello 😀\nI want to\r\ncancel\nWhy?"
        assert document.segments == (
            Segment(0, 7),
            Segment(8, 25, "Caller", 1.0, 2.5),
            Segment(26, 30, "2"),
        )

    @given(st.lists(UNICODE, min_size=1))
    def test_segments_hold_their_turns(
        self, tmp_path_factory: pytest.TempPathFactory, turns: list[str]
    ) -> None:
        path = tmp_path_factory.getbasetemp() / "turns.jsonl"
        path.write_text(json.dumps({"text": ["start", *turns]}), encoding="utf-8")
        (document,), _ = read_all(Source("turns", path, "jsonl"))
        found = [document.text[segment.start : segment.end] for segment in document.segments]
        assert found == ["start", *(turn for turn in turns if turn.removeprefix("\ufeff").strip())]

    def test_memory_does_not_grow_with_the_file(self, folder: Path) -> None:
        line = jsonl({"text": "word " * 2_000})
        with Path("big.jsonl").open("w") as stream:
            stream.writelines(line for _ in range(2_000))
        (source,) = find_sources(["big.jsonl"])
        assert (
            peak_bytes(read(source, ReadOptions())) < 2_000_000 < Path("big.jsonl").stat().st_size
        )

    def test_standard_input(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stdin = io.BytesIO(b'{"text": "a"}\n{"text": "b", "id": "B"}')
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stdin))
        (source,) = find_sources(["-"], "jsonl")
        assert [document.id for document in read_all(source)[0]] == ["stdin#1", "B"]


class TestCsv:
    def test_fields(self, read_file: Read) -> None:
        content = '\ufeffid,text,agent\r\n1,"Hi, ""you""\r\nthere",Bo\r\n\r\n,second,\r\nc,third,Al'
        documents, bad = read_file("a.csv", content)
        assert bad == []
        assert documents == [
            Document("1", 'Hi, "you"\r\nthere', {"agent": "Bo"}, source="a.csv"),
            Document("a.csv#5", "second", source="a.csv"),
            Document("c", "third", {"agent": "Al"}, source="a.csv"),
        ]

    def test_chosen_columns(self, read_file: Read) -> None:
        content = "key\tbody\ta\tb\nk\twords, words\t1\t2\n"
        (document,), _ = read_file(
            "a.tsv", content, id_field="key", text_field="body", metadata_fields=("b", "zz")
        )
        assert document == Document("k", "words, words", {"b": "2"}, source="a.tsv")

    def test_a_title(self, read_file: Read) -> None:
        content = "subject,text\nIt hangs,Since May.\nIt stops,\n"
        documents, bad = read_file("a.csv", content, title_field="subject")
        texts = ["It hangs\n\nSince May.", "It stops\n\n"]
        assert ([one.text for one in documents], bad) == (texts, [])
        (refused,) = read_file("a.csv", content, title_field="title")[1]
        assert "no column 'title' in the header row" in refused.reason
        with pytest.raises(InputError, match="title_field: not with group_by"):
            ReadOptions(title_field="subject", group_by="call")

    @pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
    def test_line_ends(self, read_file: Read, line_end: str) -> None:
        documents, bad = read_file("a.csv", line_end.join(["text", "one", "two"]))
        assert ([document.text for document in documents], bad) == (["one", "two"], [])

    @pytest.mark.parametrize(
        ("row", "reason"),
        [
            (b"x", "1 cells, but the header has 2"),
            (b"x,y,z", "3 cells, but the header has 2"),
            (b"x,", "'text' is missing or empty"),
            (b"x, ", "'text' is missing or empty"),
            (b"x,na\x81ve", "not valid UTF-8: byte 0x81 at byte 4"),
            (b'x,"a"b', "not valid CSV"),
        ],
    )
    def test_a_bad_row_is_reported_and_reading_continues(
        self, read_file: Read, row: bytes, reason: str
    ) -> None:
        content = b'id,text\n1,"two\nlines"\n' + row + b"\n4,good\n"
        documents, (bad,) = read_file("a.csv", content)
        assert [document.id for document in documents] == ["1", "4"]
        assert (bad.line, bad.record) == (4, row.decode("utf-8", "backslashreplace"))
        assert reason in bad.reason

    def test_quote_that_is_never_closed_takes_its_own_line_alone(self, read_file: Read) -> None:
        content = 'text\ngood\n"open\n' + "fine\n" * 3_000 + '"two\nlines"\n"open again\nlast'
        documents, bad = read_file("a.csv", content)
        texts = [document.text for document in documents]
        assert texts == ["good", *["fine"] * 3_000, "two\nlines", "last"]
        assert documents[-1].id == "a.csv#3007"
        assert [(one.line, one.record) for one in bad] == [(3, '"open'), (3006, '"open again')]

    def test_columns_that_share_a_name_are_numbered(self, read_file: Read) -> None:
        content = "text,note,note,,note\nIt hangs,Ann: yes,Bob: no,,Ann: oh\n"
        (document,), bad = read_file("a.csv", content)
        notes = {"note": "Ann: yes", "note 2": "Bob: no", "note 3": "Ann: oh"}
        assert (document.metadata, bad) == (notes, [])

    @pytest.mark.parametrize(
        ("header", "reason"),
        [
            ("id;body", "no column 'text' in the header row; the columns are 'id', 'body'; name"),
            ("id,body", "the columns are 'id', 'body'"),
            ("text,a,text", "two columns share a name"),
            ("text,a,a,a 2", "two columns share a name"),
            (",".join(map(str, range(500))), "and 480 more"),
            (b"id,text,\x81", "not valid UTF-8"),
            ('text,"a"b', "not valid CSV"),
        ],
    )
    def test_bad_header(self, read_file: Read, header: str | bytes, reason: str) -> None:
        raw = header.encode() if isinstance(header, str) else header
        documents, (bad,) = read_file("a.csv", raw + b"\n1,2\n3,4\n")
        assert documents == []
        assert bad.line == 1
        assert reason in bad.reason

    @pytest.mark.parametrize(("id_field", "stored"), [("key", 1), ("kye", 0), ("id", 1)])
    def test_column_of_ids_that_is_named_must_be_there(
        self, read_file: Read, id_field: str, stored: int
    ) -> None:
        documents, bad = read_file("a.csv", "key,text\n1,hello\n", id_field=id_field)
        assert len(documents) == stored
        reason = "no column 'kye' in the header row; the columns are 'key', 'text'"
        assert [one.reason for one in bad] == [reason] * (1 - stored)

    @pytest.mark.parametrize("blank", ["\n", " \t\r\n", "\n\n\nsep=;\n"])
    @pytest.mark.parametrize("mark", ["", "\ufeff"])
    def test_lines_before_the_header_may_be_blank(
        self, read_file: Read, mark: str, blank: str
    ) -> None:
        content = f"{mark}{blank}\nid;text\n1;one, two\n2;three;four\n"
        documents, (bad,) = read_file("a.csv", content)
        assert documents == [Document("1", "one, two", source="a.csv")]
        assert bad.line == content.count("\n")
        assert bad.reason == "3 cells, but the header has 2"

    def test_header_alone_is_an_empty_table(self, read_file: Read) -> None:
        documents, (skipped,) = read_file("a.csv", "id,text\n")
        assert (documents, skipped.reason) == ([], "nothing in it")

    def test_columns_without_a_name_are_left_out(self, read_file: Read) -> None:
        (document,), (told,) = read_file("a.csv", "id,text,,\n1,hello there,,x\n")
        assert document == Document("1", "hello there", source="a.csv")
        assert told.reason == "cells of columns without a name left out: 1"

    def test_a_megabyte_in_a_cell(self, read_file: Read) -> None:
        (document,), _ = read_file("a.csv", "text,n\n" + "word " * 200_000 + ",1\n")
        assert len(document.text) == 1_000_000

    def test_memory_does_not_grow_with_the_file(self, folder: Path) -> None:
        with Path("big.csv").open("w") as stream:
            stream.write("text,n\n")
            stream.writelines("word " * 2_000 + ",1\n" for _ in range(2_000))
        (source,) = find_sources(["big.csv"])
        assert peak_bytes(read(source, ReadOptions())) < 2_000_000 < Path("big.csv").stat().st_size

    def test_memory_does_not_grow_with_dates_that_could_be_two(self, folder: Path) -> None:
        with Path("big.csv").open("w") as stream:
            stream.write("text,at\n")
            stream.writelines("word " * 2_000 + ",03/04/2026\n" for _ in range(500))
            stream.write("last,15/04/2026\n")
        (source,) = find_sources(["big.csv"])
        found = read(source, ReadOptions(date_field="at"))
        assert peak_bytes(found) < 2_000_000 < Path("big.csv").stat().st_size

    def test_standard_input_stays_open(self, monkeypatch: pytest.MonkeyPatch) -> None:
        stdin = io.BytesIO(b"text\na\n")
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stdin))
        (source,) = find_sources(["-"], "csv")
        assert [document.id for document in read_all(source)[0]] == ["stdin#2"]
        assert not stdin.closed


def peak_bytes(items: Iterator[object]) -> int:
    """Peak memory, in bytes, while consuming the items."""
    tracemalloc.start()
    try:
        for _ in items:
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


CHAT_READER = '''
from slice_os.text.documents import Document
from slice_os.ingest.readers.reader import Turn, join_turns
from slice_os.ingest.readers.decoding import read_text_file


def read_chat(source, stream, options):
    """A document per file, a turn per line: SPEAKER> WHAT THEY SAY."""
    chat, encoding = read_text_file(source, stream, options.encoding)
    lines = chat.splitlines()
    text, segments = join_turns(Turn(*reversed(line.split("> ", 1))) for line in lines)
    yield Document(source, text, segments=segments, source=source)
'''
CHAT = Reader("chat_reader:read_chat", (".chat",), "a turn per line")


class TestNewFormat:
    """A reader is one file and one line: here `CHAT_READER`, and ``READERS["chat"] = CHAT``."""

    TEXT = "I want to cancel 👍🏽.\nMay I ask why?"

    @pytest.fixture(autouse=True)
    def chat_file(self, folder: Path) -> None:
        write("chat_reader.py", CHAT_READER)
        write("calls/a.chat", "Ann> I want to cancel 👍🏽.\nBo> May I ask why?")
        write("calls/b.txt", "Bye.")

    def test_is_found_by_its_extension_and_read(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.syspath_prepend(folder)
        monkeypatch.setitem(READERS, "chat", CHAT)
        chat, text = find_sources(["calls"])
        assert (chat.ids, chat.format, text.format) == ("a.chat", "chat", "text")
        (document,), bad = read_all(chat)
        assert bad == []
        assert document.text == self.TEXT
        spoken = [(s.speaker, document.text[s.start : s.end]) for s in document.segments]
        assert spoken == [("Ann", "I want to cancel 👍🏽."), ("Bo", "May I ask why?")]

    def test_is_a_choice_of_the_command_line(self, folder: Path) -> None:
        write("call", Path("calls/a.chat").read_bytes())
        program = (
            "from slice_os.ingest.formats import READERS, Reader\n"
            f"READERS['chat'] = {CHAT!r}\n"
            "from slice_os.cli import main\n"
            "scan = 'scan', '-p', 'may I ask you why', '--threshold', '0.7', '--json'\n"
            "chat = 'call', '--format', 'chat'\n"
            "for command in (['ingest', '--help'], [*scan, 'calls'], [*scan, *chat]):\n"
            "    try: main(command)\n"
            "    except SystemExit as ended: assert not ended.code, command\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(folder)])},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        *shown, by_extension, by_name = done.stdout.splitlines()
        assert any(re.search(r"chat +\.chat +a turn per line", line) for line in shown)
        for hit in map(json.loads, (by_extension, by_name)):
            assert self.TEXT[hit["start"] : hit["end"]] == hit["text"]
            assert hit["metadata"]["speaker"] == "Bo"


def test_every_format_has_its_function() -> None:
    for reader in READERS.values():
        assert callable(reader.load())


def test_formats_that_a_library_parses_are_read_apart() -> None:
    apart = {name for name, reader in READERS.items() if reader.apart}
    tables = {name for name, reader in READERS.items() if reader.streamed}
    assert tables == {"parquet", "arrow"}
    documents = {"pdf", "docx", "pptx", "xlsx", "epub", "html", "eml", "msg", "rtf", "mht"}
    assert apart == documents | tables


def test_an_unknown_format_is_refused_by_name(folder: Path) -> None:
    write("a.txt", "x")
    with pytest.raises(InputError, match="no format 'doc'; choose one of text, jsonl, json, csv"):
        find_sources(["a.txt"], "doc")


def test_a_bad_line_of_utf_16_does_not_stop_the_file() -> None:
    good = '{"text": "end it"}\n'.encode("utf-16-le")
    bad = '{"text": "'.encode("utf-16-le") + b"\x20\xd8\x20\x00" + '"}\n'.encode("utf-16-le")
    options = ReadOptions(encoding="utf-16-le")
    found = list(read_stream("s", "jsonl", io.BytesIO(good + bad + good), options))
    assert [type(record).__name__ for record in found] == ["Document", "BadRecord", "Document"]
    assert isinstance(found[1], BadRecord)
    assert found[1].reason == "not valid utf-16-le; choose another --encoding"


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "La atención fue pésima, ¡qué vergüenza!"),
        ("iso8859-15", "Un cœur pour 5 €, très déçu"),
        ("mac-roman", "La réponse a été aimable"),
        ("cp850", "La réponse a été très aimable"),
        ("cp1250", "Przesyłka przyszła z dużym opóźnieniem."),
        ("cp1254", "Hızlı yardımınız için çok teşekkürler!"),
        ("cp1257", "Negaliu prisijungti prie savo paskyros, kodėl mokestis nuskaičiuotas?"),
    ],
)
def test_words_show_the_encoding_of_a_file(encoding: str, text: str) -> None:
    pytest.importorskip("chardet")
    (document,) = read_stream("s", "text", io.BytesIO(text.encode(encoding)), ReadOptions())
    assert (document.text, document.metadata["encoding"]) == (text, encoding)


@pytest.mark.parametrize(
    "text",
    [
        "Я хочу отменить подписку, пожалуйста.",
        "Θέλω να ακυρώσω τη συνδρομή μου.",
        "ฉันต้องการยกเลิกการสมัคร",
        "मैं अपनी सदस्यता रद्द करना चाहता हूँ।",
        "解約したいです。\n料金が高すぎるので、解約の手続きを教えてください。\n",
    ],
)
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_told_by_its_high_bytes(encoding: str, text: str) -> None:
    (document,) = read_stream("s", "text", io.BytesIO(text.encode(encoding)), ReadOptions())
    assert (document.text, document.metadata["encoding"]) == (text, encoding)


def test_bytes_that_no_text_has_are_no_letters_of_windows() -> None:
    raw = "我想取消我的订阅为什么这么贵请告诉我怎么办一二三".encode("utf-16-le")
    (bad,) = read_stream("s", "text", io.BytesIO(raw), ReadOptions())
    assert isinstance(bad, BadRecord)
    assert bad.reason.startswith("not valid UTF-8")


@pytest.mark.parametrize("words", ["Ich möchte kündigen", "möchte"])
def test_a_letter_in_utf_8_is_no_accident(words: str) -> None:
    raw = f"id,text\n1,{words}\n2,caf".encode() + b"\xe9\n3,ok\n"
    first, bad, last = read_stream("s", "csv", io.BytesIO(raw), ReadOptions())
    assert (first.text, last.text) == (words, "ok")
    assert isinstance(bad, BadRecord)
    assert bad.reason.startswith("not valid UTF-8: byte 0xe9 at byte 5")
    (german,) = read_stream("s", "text", io.BytesIO("„Spaß“".encode("cp1252")), ReadOptions())
    assert german.text == "„Spaß“"


@pytest.mark.parametrize("encoding", ["utf-9", "hex", "undefined", "utf-8\0"])
def test_an_encoding_that_no_text_has_is_refused(encoding: str) -> None:
    with pytest.raises(InputError, match=r"^no encoding '"):
        ReadOptions(encoding=encoding)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "UTF-32-LE"])
def test_a_byte_order_mark_belongs_to_no_column(encoding: str) -> None:
    content = "\ufefftext,n\nend it,1\n".encode(encoding)
    (document,) = read_stream("s", "csv", io.BytesIO(content), ReadOptions(encoding=encoding))
    assert document == Document("s#2", "end it", {"encoding": encoding, "n": "1"}, source="s")


@pytest.mark.parametrize("name", ["a.txt", "a.csv"])
def test_utf_8_is_not_noted_however_it_is_spelled(read_file: Read, name: str) -> None:
    (document,), _ = read_file(name, "text\nend it\n", encoding="UTF-8")
    assert document.metadata == {}


def test_what_is_nested_too_deeply_is_told(tmp_path: Path) -> None:
    content = "Content-Type: text/plain\n\nhello there\n"
    for number in range(600):
        kind = f'MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b{number}"'
        content = f"{kind}\n\n--b{number}\n{content}\n--b{number}--\n"
    (tmp_path / "deep.eml").write_text(f"From: ann@example.org\nSubject: deep\n{content}")
    (source,) = find_sources([tmp_path / "deep.eml"])
    (found,) = read(source, ReadOptions())
    assert isinstance(found, BadRecord)
    assert found.reason == "parts within parts, more than 100 deep"
