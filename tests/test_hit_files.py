"""Hits in files and data frames."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slice_os import Context, Corpus, Document, Hit, Hits, InputError, SpanEncoder, write_hits
from slice_os.hits.labelled import labelled_rows
from slice_os.tables.spreadsheets import read_csv, write_csv, write_xlsx
from slice_os.tables.table import collected
from slice_os.text.documents import Extent

from .command_line import Outcome, Run
from .many_formats import zipped
from .test_cli import COMMAND, ENVIRONMENT

openpyxl = pytest.importorskip("openpyxl")
parquet = pytest.importorskip("pyarrow.parquet")

HIT = Hit(
    phrase="cancel my plan",
    doc_id="call-1",
    start=7,
    end=19,
    text="end the plan",
    cosine=0.734562,
    bm25=None,
    score=0.734562,
    metadata={"speaker": "Kunde", "turn": 3, "rate": 0.5, "vip": True},
    passage=Context(0, 27, "Please end the plan today."),
    probability=0.5,
)
HOSTILE = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "＝1", "http://x.org", "{=1}", "'=1")
COLUMNS = [
    "doc_id", "start", "end", "text", "cosine", "bm25", "score", "probability", "band", "reasons",
    "matches", "phrase", "topic", "clause.start", "clause.end", "sentence.start", "sentence.end",
    "turn.start", "turn.end", "span.start", "span.end", "count", "label", "passage.start",
    "passage.end", "passage.text",
]  # fmt: skip
texts = st.text(st.characters(blacklist_categories=["Cs"]), max_size=30)
extents = st.none() | st.builds(Extent, st.integers(0, 99), st.integers(0, 99))
numbers = st.floats(-1, 1).map(lambda number: round(number, 6) + 0.0)
scalars = st.one_of(texts, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(-1e6, 1e6))
hits = st.builds(
    Hit,
    phrase=texts,
    doc_id=texts,
    start=st.integers(0, 10**9),
    end=st.integers(0, 10**9),
    text=texts,
    cosine=numbers,
    bm25=st.none() | numbers,
    score=numbers,
    metadata=st.dictionaries(texts, scalars, max_size=4),
    passage=st.builds(Context, st.integers(0, 99), st.integers(0, 99), texts),
    probability=st.none() | numbers.map(abs),
    reasons=st.lists(texts, max_size=2).map(tuple),
    matches=st.lists(st.tuples(texts, texts), max_size=2).map(tuple),
    topic=st.none() | texts,
    clause=extents,
    sentence=extents,
    turn=extents,
    span=extents,
    count=st.integers(1, 99),
)


def sheet_rows(path: Path, name: str = "hits") -> list[dict[str, object]]:
    """The rows of a sheet, as a spreadsheet shows them."""
    head, *rows = openpyxl.load_workbook(path)[name].iter_rows(values_only=True)
    return [dict(zip(head, map(unescaped, row), strict=True)) for row in rows]


def unescaped(cell: object) -> object:
    if not isinstance(cell, str):
        return cell
    return re.sub("_x([0-9A-F]{4})_", lambda found: chr(int(found[1], 16)), cell)


class TestJson:
    @given(st.lists(hits, max_size=4))
    def test_comes_back_as_it_was(self, some: list[Hit]) -> None:
        given_ = Hits(tuple(some))
        assert Hits.from_jsonl(given_.to_jsonl()) == given_
        assert [Hit.from_json(hit.to_json()) for hit in some] == some

    def test_accepts_what_an_earlier_version_wrote(self) -> None:
        raw = HIT.to_dict()
        del raw["probability"]
        assert Hit.from_dict(raw) == replace(HIT, probability=None)

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("{", "not valid JSON"),
            ("[]", "not a hit"),
            ('{"doc_id": "a"}', "not a hit"),
            (json.dumps(HIT.to_dict() | {"start": "7"}), "start is '7'; give a whole number"),
            (json.dumps(HIT.to_dict() | {"start": None}), "start is None; give a whole number"),
            (json.dumps(HIT.to_dict() | {"start": True}), "start is True; give a whole number"),
            (json.dumps(HIT.to_dict() | {"end": 2**63}), "end is 9223372036854775808; give"),
            (json.dumps(HIT.to_dict() | {"metadata": {"a": 2**63}}), "metadata.a is 9223372036854"),
        ],
    )
    def test_other_lines_are_refused(self, line: str, message: str) -> None:
        with pytest.raises(InputError, match=message) as refused:
            Hits.from_jsonl(HIT.to_json().decode() + "\n" + line)
        assert str(refused.value).startswith("line 3: ")
        assert "\n" not in str(refused.value)


class TestFrames:
    def test_have_a_column_for_every_field(self) -> None:
        other = replace(HIT, metadata={"turn": "last"}, bm25=2.5)
        table = Hits((HIT, other)).to_arrow()
        meta = ["metadata.speaker", "metadata.turn", "metadata.rate", "metadata.vip"]
        assert table.column_names == COLUMNS + meta
        assert table["bm25"].to_pylist() == [None, 2.5]
        assert table["metadata.turn"].to_pylist() == ["3", "last"]
        assert table["metadata.vip"].to_pylist() == [True, None]

    def test_have_the_same_types_without_hits(self) -> None:
        empty, full = Hits(()).to_arrow(), Hits((HIT,)).to_arrow()
        assert empty.column_names == COLUMNS
        assert [full.schema.field(name) for name in COLUMNS] == list(empty.schema)

    def test_pandas(self) -> None:
        pandas = pytest.importorskip("pandas")
        frame = Hits((HIT, replace(HIT, metadata={}))).to_pandas()
        assert frame["start"].dtype == "int64"
        assert frame["metadata.turn"].dtype == "Int64"
        assert frame["metadata.turn"][0] == 3
        assert frame["metadata.turn"][1] is pandas.NA
        assert frame["text"][0] == HIT.text
        assert list(Hits(()).to_pandas().columns) == COLUMNS

    def test_polars(self) -> None:
        polars = pytest.importorskip("polars")
        frame = Hits((HIT, replace(HIT, metadata={}))).to_polars()
        assert frame.schema["bm25"] == polars.Float64
        assert frame["metadata.turn"].to_list() == [3, None]

    @pytest.mark.parametrize(
        ("package", "method", "extra"),
        [("pandas", "to_pandas", "pandas"), ("polars", "to_polars", "polars"),
         ("pyarrow", "to_arrow", "tables")],
    )  # fmt: skip
    def test_name_what_to_install(
        self, monkeypatch: pytest.MonkeyPatch, package: str, method: str, extra: str
    ) -> None:
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ImportError, match=re.escape(f"pip install 'slice-os[{extra}]'")):
            getattr(Hits((HIT,)), method)()


class TestFiles:
    @given(some=st.lists(hits, max_size=3))
    def test_hold_all_hits(self, some: list[Hit], tmp_path_factory: pytest.TempPathFactory) -> None:
        folder = tmp_path_factory.mktemp("files")
        for name in ("hits.jsonl", "hits.csv", "hits.parquet"):
            assert write_hits(iter(some), folder / name) == len(some)
        assert Hits.from_jsonl((folder / "hits.jsonl").read_bytes()) == Hits(tuple(some))
        assert parquet.read_table(folder / "hits.parquet").equals(Hits(tuple(some)).to_arrow())
        content = (folder / "hits.csv").read_text("utf-8").replace("\0", "")  # a reader's limit
        rows = csv.DictReader(io.StringIO(content, newline=""))
        assert [row["start"] for row in rows] == [str(hit.start) for hit in some]

    def test_sheets_begin_with_what_people_read(self, tmp_path: Path) -> None:
        paged = {"page": 3, "csat": "4", "code": "007", "version": "1.10"}
        for name in ("hits.csv", "hits.xlsx"):
            write_hits([replace(HIT, metadata=paged)], tmp_path / name)
        row = sheet_rows(tmp_path / "hits.xlsx")[0]
        with (tmp_path / "hits.csv").open(encoding="utf-8", newline="") as stream:
            (cells,) = csv.DictReader(stream)
        first = ["label", "phrase", "text", "page", "probability"]
        others = [name for name in COLUMNS if name not in first]
        fields = ["metadata.csat", "metadata.code", "metadata.version"]
        assert list(row) == list(cells) == first + others + fields
        assert (row["label"], row["page"], row["metadata.csat"]) == (None, 3, 4)
        assert (row["metadata.code"], row["metadata.version"]) == ("007", "1.10")

    def test_labels_in_sheets_are_read_back(self, tmp_path: Path) -> None:
        table, workbook = tmp_path / "hits.csv", tmp_path / "hits.xlsx"
        given_ = [replace(HIT, text=text, topic="cancel") for text in HOSTILE]
        marks = ["✓", "✕", "Y", "n", *[None] * (len(given_) - 4)]
        for path in (table, workbook):
            write_hits(given_, path)
        with table.open(encoding="utf-8", newline="") as stream:
            head, *rows = csv.reader(stream)
        with table.open("w", encoding="utf-8-sig", newline="") as stream:  # as Excel saves it
            csv.writer(stream, delimiter=";").writerows(
                [head, *([mark, *row[1:]] for mark, row in zip(marks, rows, strict=True))]
            )
        book = openpyxl.load_workbook(workbook)
        for number, mark in enumerate(marks, 2):
            book["hits"].cell(number, 1).value = mark
        book.save(workbook)
        for path in (table, workbook):
            read = [row for _, row in labelled_rows(path)]
            assert [row["label"] for row in read[:5]] == [True, False, True, False, None]
            for row, hit in zip(read, given_, strict=True):
                raw = hit.to_dict()
                for name in ("doc_id", "start", "end", "text", "cosine", "topic", "passage"):
                    assert row[name] == raw[name], (path, name)

    def test_long_passages_are_read_back(self, tmp_path: Path) -> None:
        text = "word " * 40_000
        write_hits([replace(HIT, passage=Context(0, len(text), text))], tmp_path / "hits.csv")
        ((_, row),) = labelled_rows(tmp_path / "hits.csv")
        assert row["passage"]["text"] == text

    @pytest.mark.parametrize("part", ["xl/worksheets/sheet1.xml", "xl/workbook.xml"])
    def test_a_damaged_workbook_is_told(self, tmp_path: Path, part: str) -> None:
        write_hits([HIT], tmp_path / "hits.xlsx")
        with (
            zipfile.ZipFile(tmp_path / "hits.xlsx") as whole,
            zipfile.ZipFile(tmp_path / "damaged.xlsx", "w") as damaged,
        ):
            for name in whole.namelist():
                content = whole.read(name)
                damaged.writestr(name, content[: len(content) // 2] if name == part else content)
        with pytest.raises(InputError, match=r"damaged.xlsx: cannot be read as a workbook \(.+\)$"):
            list(labelled_rows(tmp_path / "damaged.xlsx"))

    def test_a_workbook_is_read_to_a_limit(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        name, sheet = tmp_path / "hits.xlsx", "xl/worksheets/sheet1.xml"
        write_hits([HIT], name)
        with zipfile.ZipFile(name) as whole:
            parts = {one: whole.read(one) for one in whole.namelist()}
        content = re.sub(b"<dimension [^>]+>", b"", parts[sheet])
        far = b'<row r="9000000000"></row></sheetData>'
        parts[sheet] = content.replace(b"</sheetData>", far)
        name.write_bytes(zipped(parts))
        assert [row["text"] for _, row in labelled_rows(name)] == [HIT.text]
        for limit, told in (("MOST_CELLS", "has more than 9 cells"), ("LARGEST", "to more than 0")):
            monkeypatch.setattr(f"slice_os.tables.spreadsheets.{limit}", 9)
            with pytest.raises(InputError, match=f"{told}.*; save it as “CSV UTF-8”$"):
                list(labelled_rows(name))

    def test_numbers_of_many_digits_stay_texts(self, tmp_path: Path) -> None:
        digits = {"card": "4000123412341234", "id": "20000000000000000000", "age": "42"}
        write_hits([replace(HIT, metadata=digits)], tmp_path / "hits.xlsx")
        rows = openpyxl.load_workbook(tmp_path / "hits.xlsx").active.iter_rows(values_only=True)
        found = dict(zip(*rows, strict=True))
        values = [found[f"metadata.{name}"] for name in digits]
        assert values == ["4000123412341234", "20000000000000000000", 42]

    def test_offsets_are_whole_numbers(self, tmp_path: Path) -> None:
        path = tmp_path / "hits.csv"
        write_hits([HIT], path)
        with path.open(encoding="utf-8", newline="") as stream:
            (row,) = csv.DictReader(stream)

        def read(start: str) -> int:
            with path.open("w", encoding="utf-8", newline="") as stream:
                table = csv.DictWriter(stream, list(row))
                table.writeheader()
                table.writerow(row | {"start": start})
            ((_, found),) = labelled_rows(path)
            return int(found["start"])

        assert [read("4000"), read("4000.0"), read("4000,0")] == [4_000] * 3
        for start in ("4,000", "4.000", "12.5", "nan"):
            with pytest.raises(
                InputError, match=f"hits.csv:2: start: '{start}' is no whole number"
            ):
                read(start)

    def test_an_unclear_label_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "hits.csv"
        write_hits([HIT], path)
        path.write_text(path.read_text("utf-8").replace("\n,", "\nx,"), "utf-8")
        with pytest.raises(InputError, match=r"hits.csv:2: label 'x': write ✓ or y"):
            list(labelled_rows(path))

    def test_csv_holds_no_formula(self, tmp_path: Path) -> None:
        path = tmp_path / "hits.csv"
        write_hits([replace(HIT, text=text, cosine=-0.5) for text in HOSTILE], path)
        with path.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream))
        assert [row["text"] for row in rows] == [
            *(f"'{text}" for text in HOSTILE[:4]), "'\t'=1", "'\r'=1", "'＝1",
            *HOSTILE[7:-1], f"'{HOSTILE[-1]}",
        ]  # fmt: skip
        assert {row["cosine"] for row in rows} == {"-0.5"}
        assert rows[0]["metadata.vip"] == "true"
        assert rows[0]["bm25"] == ""

    @given(text=st.text(st.sampled_from("=+-@＝﹢;,\t\r\n\"' ax|\u200b\xa0"), max_size=12))
    def test_csv_holds_no_formula_whichever_separator_is_expected(
        self, text: str, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        path = tmp_path_factory.mktemp("csv") / "cells.csv"
        write_csv(collected([{"a": text, "b": "b", "c": text}], ()), path)
        written = path.read_bytes().decode()
        ((_, row),) = read_csv(path)
        assert row == {name: cell for name, cell in (("a", text), ("b", "b"), ("c", text)) if cell}
        for separator in ";\t\r\n":
            # Quotation marks within a cell begin no quoted one there.
            for cell in written.split(separator):
                began = cell.lstrip('\r\n"')
                assert not re.match("['\"]*[ \u200b\xa0]*[=+@＝﹢-]", began) or began[0] == "'"
        if re.search('[;,\t\r\n"]', text):
            assert '"' in written.splitlines()[1]

    def test_xlsx_holds_no_formula(self, tmp_path: Path) -> None:
        path = tmp_path / "hits.xlsx"
        write_hits([replace(HIT, text=text) for text in HOSTILE], path)
        sheet = openpyxl.load_workbook(path)["hits"]
        kinds = {cell.data_type for row in sheet.iter_rows(min_row=2) for cell in row[2:3]}
        assert kinds <= {"s", "inlineStr"}
        assert not any(cell.hyperlink for row in sheet.iter_rows() for cell in row)
        assert [row["text"] for row in sheet_rows(path)] == [*HOSTILE]

    def test_xlsx_keeps_control_characters_and_long_numbers(self, tmp_path: Path) -> None:
        path = tmp_path / "hits.xlsx"
        evil = "a\x00b\x1b[31m\x0b_x0041_ \ufffe \u2028 end"
        write_hits([replace(HIT, text=evil, metadata={"id": 2**62, "page": 4})], path)
        (row,) = sheet_rows(path)
        assert row["text"] == evil
        assert row["metadata.id"] == str(2**62)
        assert row["page"] == 4

    def test_xlsx_tells_what_it_cuts(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        path = tmp_path / "hits.xlsx"
        write_hits([replace(HIT, text=length * "😀") for length in (16_383, 16_384)], path)
        fits, cut = (str(row["text"]) for row in sheet_rows(path))
        assert fits == 16_383 * "😀"
        assert cut.endswith("😀 […]")
        assert "XLSX: 1 texts were cut" in caplog.text

    def test_a_workbook_that_cannot_be_written_is_told(self, tmp_path: Path) -> None:
        with pytest.raises(IsADirectoryError):
            write_xlsx(collected([{"a": 1}], ()), tmp_path)

    def test_xlsx_goes_on_on_another_sheet(
        self, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        path = tmp_path / "hits.xlsx"
        records = [replace(HIT, start=number).to_dict() for number in range(7)]
        write_xlsx(collected(records, Hit.columns()), path, most_rows=4)
        starts = [
            [row["start"] for row in sheet_rows(path, name)]
            for name in ("hits", "hits 2", "hits 3")
        ]
        assert starts == [[0, 1, 2], [3, 4, 5], [6]]
        assert "XLSX: 3 sheets, because a sheet holds 4 rows" in caplog.text

    @pytest.mark.parametrize("name", ["hits.jsonl", "hits.csv", "hits.xlsx", "hits.parquet"])
    def test_are_whole_or_not_there(self, tmp_path: Path, name: str) -> None:
        def stopped() -> Iterator[Hit]:
            yield HIT
            raise KeyboardInterrupt

        path = tmp_path / name
        with pytest.raises(KeyboardInterrupt):
            write_hits(stopped(), path)
        assert list(tmp_path.iterdir()) == []
        path.write_text("before")
        with pytest.raises(KeyboardInterrupt):
            write_hits(stopped(), path)
        assert path.read_text() == "before"
        path.chmod(0o640)
        assert write_hits([HIT], path) == 1
        assert list(tmp_path.iterdir()) == [path]
        assert path.stat().st_mode & 0o777 == 0o640

    def test_a_link_stays_a_link(self, tmp_path: Path) -> None:
        target, link = tmp_path / "target.jsonl", tmp_path / "link.jsonl"
        link.symlink_to(target)
        write_hits([HIT], link)
        assert link.is_symlink()
        assert Hits.from_jsonl(target.read_bytes())[0] == HIT

    def test_other_names_are_refused_in_one_line(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"hits.ods: hits are written to files ending in \.js"):
            write_hits([HIT], tmp_path / "hits.ods")
        (tmp_path / "file").touch()
        with pytest.raises(InputError, match="file is a file, not a folder"):
            write_hits([HIT], tmp_path / "file" / "new" / "hits.csv")

    def test_their_folders_are_made(self, tmp_path: Path) -> None:
        Hits((HIT,)).to_jsonl(tmp_path / "a" / "b" / "hits.jsonl")
        assert write_hits([HIT], tmp_path / "c" / "d" / "hits.csv") == 1
        assert sorted(path.name for path in tmp_path.rglob("hits.*")) == ["hits.csv", "hits.jsonl"]


class TestCommands:
    def test_write_files(self, run: Run, encoder: SpanEncoder) -> None:
        with Corpus("store", encoder) as corpus:
            corpus.add([Document("a", "=I want to cancel my plan today. Thanks.", {"csat": 3})])
        done = run("search", "end my plan", "--store", "store", "-o", "hits.csv")
        assert done == Outcome(0, "", "hits.csv: 1 hit\n")
        done = run("mine", "-p", "end my plan", "--store", "store", "-o", "hits.xlsx")
        assert done.status == 0
        assert sheet_rows(Path("hits.xlsx"))[0]["metadata.csat"] == 3
        Path("call.txt").write_text("I want to cancel my plan today.")
        done = run("scan", "call.txt", "-p", "end my plan", "-o", "hits.parquet")
        assert done.status == 0
        assert parquet.read_table("hits.parquet").num_rows == 1

    def test_refuse_before_they_search(self, run: Run) -> None:
        mine = ("mine", "-p", "x", "--store", "no store")
        done = run(*mine, "-o", "hits.doc")
        assert done.status == 1
        assert re.fullmatch(r"slice-os: hits\.doc: hits are written to .*\n", done.err)
        done = run(*mine, "-o", "hits.csv", "--json")
        assert done.status == 2
        assert "not both" in done.err

    @pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
    def test_name_the_file_that_cannot_be_written(self, run: Run) -> None:
        Path("call.txt").write_text("I want to cancel my plan today.")
        done = run("scan", "call.txt", "-p", "end my plan", "-o", "/proc/hits.csv")
        assert done == Outcome(1, "", "slice-os: /proc/hits.csv: No such file or directory\n")

    def test_leave_nothing_after_ctrl_c(self, tmp_path: Path) -> None:
        arguments = ["scan", "-", "--format", "jsonl", "-p", "end my plan", "-o", "hits.jsonl"]
        with subprocess.Popen(
            [*COMMAND, *arguments],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=ENVIRONMENT,
            cwd=tmp_path,
        ) as process:
            assert process.stdin is not None
            line = json.dumps({"id": "a", "text": "I want to cancel my plan today."})
            process.stdin.write((line + "\n").encode() * 200)
            process.stdin.flush()
            until = time.monotonic() + 300
            while not list(tmp_path.iterdir()) and time.monotonic() < until:
                time.sleep(0.05)
            assert [path.name[0] for path in tmp_path.iterdir()] == ["."]
            os.kill(process.pid, signal.SIGINT)
            assert process.wait(300) == 130
        assert list(tmp_path.iterdir()) == []
