"""Reading takes time in proportion to the input, whatever the input is, and bounded memory."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from slice_os.cli import cli
from slice_os.datasets import files
from slice_os.encoder.alignment import BLOCK_CHARACTERS
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import InputError
from slice_os.ingest import apart
from slice_os.ingest.formats import reader_named
from slice_os.ingest.readers import BadRecord, ReadOptions, decoding
from slice_os.ingest.readers import reader as base
from slice_os.ingest.readers.dates import order_shown
from slice_os.ingest.reading import read_stream
from slice_os.stores.local.terms import terms
from slice_os.text.documents import Document
from slice_os.text.sentences import sentence_ends
from slice_os.text.words import find_words

from .office_files import document, office, paragraph, run

SIZE = 8_000
TIMES = 8
# Eight times the input takes eight times as long in linear time, 64 times in quadratic time.
MOST = 32
# Faster than that, only the clock is measured.
NEGLIGIBLE_SECONDS = 0.2

CUE = "WEBVTT\n\n00:01.000 --> 00:02.000\n"
UNITS = [
    *("_", "🇩", "a", " ", "\n", ",", "'", "“", "«", "「", "a.", "1,", "中", "\u0301", "👩\u200d"),
    "<v ",
]


def assert_linear(work: Callable[[str], object], unit: str, around: str = "{}") -> None:
    """The least of three times each, so that a busy machine does not decide."""

    def seconds(size: int) -> Iterator[float]:
        text = around.format(unit * (size // len(unit)))
        for _ in range(3):
            began = time.process_time()
            work(text)
            yield time.process_time() - began

    spent = []
    for long in seconds(SIZE * TIMES):
        if long < NEGLIGIBLE_SECONDS:
            return
        spent.append(long)
    short, long = min(seconds(SIZE)), min(spent)
    assert long < MOST * short, f"{short:.3f} s, then {long:.3f} s"


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("work", [find_words, terms, sentence_ends])
def test_text_functions(work: Callable[[str], object], unit: str) -> None:
    assert_linear(work, unit)


def read_with(name: str) -> Callable[[str], object]:
    function = reader_named(name).load()
    return lambda text: list(function("s", io.BytesIO(text.encode()), ReadOptions()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "around", "unit"),
    [
        ("vtt", CUE + "<v{}Ann>Hello", " "),
        ("vtt", CUE + "{}Hello", "<v "),
        ("vtt", CUE + "{}Hello", "<c."),
        ("vtt", CUE + "{0}b\na\n\n00:02.000 --> 00:03.000\n{0}a\na", "a\n"),
        ("srt", "1\n00:00:01,000 --> 00:00:02,000\n{}Hello", "&#"),
        ("srt", "{}Hello", "1\n"),
        ("csv", "text\n{}", ","),
        ("csv", "text,b\n{}", '"'),
        ("csv", "text,b\n{}", 'a","b\n'),
        ("csv", 'text\n"{}', "a\n"),
        ("csv", "{}", ";,"),
        ("jsonl", "{}", "["),
        ("json", "{}", "["),
        ("json", '{{"comments": [{{"author": "A", "body": "<p>{}</p>"}}]}}', "<!-- "),
        ("json", '{{"comments": [{{"author": "A", "body": "<p>{}</p>"}}]}}', "<p "),
        ("text", "{}", "A: "),
        ("text", "{}", "A: x\n"),
        ("text", "Bo: x\n{}", " \n"),
        ("text", "{}", "[1/2/23, 9:14] a"),
        ("text", "{}", "1/2/23 9:14 - A: b\n1/2/23 9:14 - B: a\n"),
        ("text", "{}", "Bo  0:14\nx\nAl  0:14\ny\n"),
        ("eml", "From: {}\n\nHello", "a "),
        ("eml", "From: {}\n\nHello", "("),
        ("eml", "From: a\nContent-Type: text/plain; {}\n\nHello", "a=("),
        ("eml", "Subject: {}\n\nHello", "=?utf-8?Q?"),
        ("eml", "Subject: {}\n\nHello", "=?utf-8?Q?a?= "),
        ("eml", "From: a\n\nHello {}", "\n> x wrote:"),
        ("eml", "From: a\n\nHello {}", "\n\nOn 2 March, x wrote:\n"),
        ("eml", "From: a\n\nHello {}", "\nFrom: a\n"),
        ("eml", "From: a\n\nHello {}", "\nbegin 644 a\nMa"),
        ("eml", "From: a\nContent-Type: multipart/mixed\n\n{}", "--a\n"),
        ("eml", "From: a\nContent-Type: text/calendar\n\nBEGIN:V\n{}", 'SUMMARY;a="b'),
        ("eml", "From: a\nContent-Type: multipart/alternative; boundary=a\n\n{}", "--a\n\nb\n"),
        ("html", "<p>Hello</p>{}", "<![CDATA["),
        ("html", "<p>Hello</p>{}", "<a style='height:0"),
        ("html", "<style>{}</style><p>Hello", ".a.b{display:none}"),
        ("html", "<style>{}</style><p>Hello", "/*.a{"),
        ("html", "<p>Hello</p>{}", "<div>"),
        ("html", "<p>Hello</p>{}", "<!--"),
        ("rtf", "{{\\rtf1 Hello {}", "{{"),
        ("mbox", "From a 09:14 2026\nSubject: a\n\nFrom {}", "00:00 "),
    ],
)
def test_readers(name: str, around: str, unit: str) -> None:
    assert_linear(read_with(name), unit, around)


def test_dates_of_many_spaces() -> None:
    assert_linear(lambda spaces: order_shown(f"1{spaces}x"), " ")


def test_filters_of_many_spaces() -> None:
    ask = ["search", "x", "--store", "none", "--filter"]
    assert_linear(lambda spaces: CliRunner().invoke(cli, [*ask, f"a{spaces}b"]), " ")


@pytest.mark.slow
def test_messages_of_many_versions() -> None:
    read = read_with("eml")

    def work(text: str) -> object:
        versions = (f"--a\n\nw{n}a w{n}b w{n}c w{n}d\n" for n in range(len(text) // 8))
        head = "From: a\nContent-Type: multipart/alternative; boundary=a\n\n"
        return read(head + "".join(versions))

    assert_linear(work, "x")


def test_lists_beside_a_text_without_words() -> None:
    read = read_with("json")

    def work(text: str) -> object:
        listed = '["lost words"],' * (len(text) // 16)
        return read(f'{{"text": "{text}", "a": [{listed}0]}}')

    assert_linear(work, "!")


def test_fields_within_the_codes_of_others() -> None:
    read = reader_named("docx").load()

    def work(text: str) -> object:
        marks = {
            kind: f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' * (len(text) // 8)
            for kind in ("begin", "end")
        }
        body = document(paragraph(*marks.values(), run("Hello")))
        (found,) = read("s", io.BytesIO(office("docx", body)), ReadOptions())
        assert isinstance(found, Document)
        return found

    assert_linear(work, "x")


@pytest.mark.parametrize(
    ("sheet", "times", "peak", "kept"),
    [
        # One sheet of very many rules.
        (".aa," * 100_000 + ".a{{display:none}}", 1, 4 << 20, 2 << 20),
        # Many sheets of many rules, and many styles that no browser knows.
        (".a," * 2_700 + ".b{{display:none{0}}}", 40, 16 << 20, 12 << 20),
        (".a{{display:{0}" + "x" * 100_000 + "}}", 40, 4 << 20, 2 << 20),
    ],
)
def test_style_sheets_take_bounded_memory(sheet: str, times: int, peak: int, kept: int) -> None:
    read = read_with("html")
    read("<p>Hello")
    tracemalloc.start()
    for number in range(times):
        read(f"<style>{sheet.format(chr(97 + number % 26) * number)}</style><p class=a>Hello")
    after, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after < kept
    assert most < peak


def test_folders_of_an_archive_take_bounded_memory() -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for number in range(10_000):
            folder = tarfile.TarInfo(str(number))
            folder.type = tarfile.DIRTYPE
            archive.addfile(folder)
    read = reader_named("tar").load()
    out.seek(0)
    tracemalloc.start()
    assert list(read("s", out, ReadOptions())) == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 21


def test_a_packed_table_of_columns_takes_bounded_memory() -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    sounds = [os.urandom(1 << 13) for _ in range(1 << 11)]
    table = pa.table({"text": ["Hello"] * len(sounds), "sound": sounds})
    out = io.BytesIO()
    parquet.write_table(table, out, row_group_size=128)
    packed = gzip.compress(out.getvalue(), 1)
    next(read_stream("s", "gz", io.BytesIO(packed), ReadOptions()))
    tracemalloc.start()
    found = sum(1 for _ in read_stream("s", "gz", io.BytesIO(packed), ReadOptions()))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == len(sounds)
    assert peak < 1 << 23


def test_a_long_value_of_many_rows_takes_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(apart, "MEMORY", 1 << 30)
    long = pa.DictionaryArray.from_arrays(pa.array([0] * 256), pa.array(["x" * (1 << 23)]))
    out = io.BytesIO()
    parquet.write_table(pa.table({"text": ["Hello"] * 256, "long": long}), out)
    out.seek(0)
    (bad,) = read_stream("s", "parquet", out, ReadOptions())
    assert isinstance(bad, BadRecord)
    # Where the library cannot tell that memory is short, it ends its process.
    assert bad.reason == "needs more memory than a file may take" or "(SIGABRT)" in bad.reason


@pytest.mark.parametrize("unit", [",", "x", "中", "🇩", "_"])
def test_text_without_white_space_is_aligned_in_blocks(encoder: SpanEncoder, unit: str) -> None:
    text = unit * (3 * BLOCK_CHARACTERS)
    tracemalloc.start()
    words = encoder.align(text).words
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (words[1:, 0] >= words[:-1, 1]).all()
    assert peak < 200 * len(text)


def test_blocks_do_not_change_words(monkeypatch: pytest.MonkeyPatch, encoder: SpanEncoder) -> None:
    text = "cancel,please/stop-it;" * 40
    whole = encoder.align(text)
    monkeypatch.setattr("slice_os.encoder.alignment.BLOCK_CHARACTERS", 50)
    assert (encoder.align(text).words == whole.words).all()


@pytest.mark.parametrize(("name", "head"), [("csv", "text\n"), ("jsonl", "")])
def test_a_line_without_end_is_one_bad_record(
    monkeypatch: pytest.MonkeyPatch, name: str, head: str
) -> None:
    for module in (decoding, __import__("slice_os.ingest.readers.tables", fromlist=["tables"])):
        monkeypatch.setattr(module, "LONGEST_LINE", 100, raising=False)
    good = "good" if name == "csv" else '{"text": "good"}'
    content = f"{head}{good}\n{'x' * 1_000}\n{good}\n".encode()
    first, bad, last = reader_named(name).load()("s", io.BytesIO(content), ReadOptions())
    assert isinstance(bad, BadRecord)
    assert "more than 100 characters" in bad.reason
    assert (first.text, last.text) == ("good", "good")


def test_a_quote_swallows_no_more_than_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = __import__("slice_os.ingest.readers.tables", fromlist=["tables"])
    for module in (decoding, tables):
        monkeypatch.setattr(module, "LONGEST_LINE", 1_000)
    content = ('text\n"open\n' + "fine\n" * 1_000).encode()
    bad, *documents = reader_named("csv").load()("s", io.BytesIO(content), ReadOptions())
    assert isinstance(bad, BadRecord)
    assert (bad.line, bad.record) == (2, '"open')
    assert len(documents) == 1_000


@pytest.mark.parametrize("name", ["text", "vtt", "json"])
def test_a_file_that_is_too_long_for_one_document(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(base, "LONGEST_FILE", 1 << 20)
    (bad,) = reader_named(name).load()("s", io.BytesIO(b"x" * (1 << 20) + b"x"), ReadOptions())
    assert isinstance(bad, BadRecord)
    assert bad.reason == "more than 1 MiB in one document; split it"


def test_data_files_unpack_to_a_limit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import gzip

    monkeypatch.setattr(files, "LONGEST", 1 << 20)
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(b"0" * (1 << 21)))
    with pytest.raises(InputError, match="unpacks to more than 1 MiB"):
        files.DataSource("data").read(path)
