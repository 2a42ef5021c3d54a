"""Results: shown, saved, read again and compared; and the report made of them."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from slice_os.datasets.files import DataFile
from slice_os.errors import InputError
from slice_os.evaluation.report.html import render_report
from slice_os.evaluation.results import (
    Evaluation,
    Example,
    Figure,
    Series,
    Table,
    compare,
)

ROWS = (
    {"encoder": "a", "size": 5, "pearson": 0.51234567, "pearson_low": 0.4, "pearson_high": 0.6},
    {"encoder": "a", "size": 10, "pearson": 0.75, "pearson_low": 0.7, "pearson_high": 0.8},
    {"encoder": "b", "size": 5, "pearson": float("nan"), "note": "quoted"},
)


def evaluation(**changes: object) -> Evaluation:
    given = {
        "harness": "test",
        "rows": ROWS,
        "data": (DataFile("rows.tsv", "ab" * 32, 3),),
        "settings": {"size": [5, 10]},
        "notes": ("One note.",),
        "keys": ("size",),
    }
    return Evaluation(**{**given, **changes})  # type: ignore[arg-type]


def test_a_table_joins_the_ends_of_intervals() -> None:
    lines = evaluation().table().splitlines()
    assert lines[0].split() == ["encoder", "size", "pearson", "95", "%", "note"]
    assert lines[2].split() == ["a", "5", "0.512", "0.400", "…", "0.600"]
    assert lines[-1] == "One note."
    assert len({line.index("pearson"[0]) for line in lines[:1]}) == 1


def test_empty_columns_are_left_out() -> None:
    table = Table.of([{"a": 1, "b": None}, {"a": 2, "b": None}])
    assert table.titles == ("a",)
    assert Table.of([{"x": 1234, "y": "s", "z": True}]).cells == (("1,234", "s", "yes"),)
    assert "| ---: | --- |" in Table.of([{"x": 1.5, "y": "s"}]).markdown()


def test_what_is_saved_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "result.json"
    original = evaluation()
    original.save(path)
    read = Evaluation.load(path)
    assert read.rows[0]["pearson"] == 0.512346
    assert read.rows[2]["pearson"] is None
    assert (read.data, read.settings, read.notes) == (
        original.data,
        original.settings,
        original.notes,
    )
    assert (read.date, read.keys) == (original.date, original.keys)
    assert compare(read, read).notes == ()


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"harness": "x", "rows": [1]}'])
def test_files_that_are_no_results_are_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"other\.json.*expected what `slice-os eval"):
        Evaluation.load(path)
    with pytest.raises(InputError, match="not found"):
        Evaluation.load(tmp_path / "missing.json")


def test_comparisons_match_rows_by_their_names_and_keys() -> None:
    other = evaluation(
        rows=({**ROWS[1], "pearson": 0.5}, {"encoder": "c", "size": 5, "pearson": 0.1}),
        data=(),
    )
    comparison = compare(evaluation(), other)
    (row,) = [row for row in comparison.rows if row["figure"] == "pearson"]
    assert row == {
        "encoder": "a",
        "size": 10,
        "figure": "pearson",
        "first": 0.75,
        "second": 0.5,
        "difference": -0.25,
    }
    assert comparison.notes == (
        "The data files differ.",
        "Only in the first: a 5; b 5 quoted.",
        "Only in the second: c 5.",
    )
    assert "-0.250" in comparison.table()
    with pytest.raises(InputError, match="cannot compare test with other"):
        compare(evaluation(), evaluation(harness="other"))


class _Page(HTMLParser):
    """Checks that tags are balanced and nothing is fetched."""

    empty = frozenset({"meta", "br", "circle", "line", "rect", "polyline", "polygon"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert not {"src", "href", "onload", "onclick"} & {name for name, _ in attrs}
        if tag not in self.empty:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.empty:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_report_is_one_file_with_everything_escaped() -> None:
    evil = '<script>alert("x")</script> & <b>'
    made = evaluation(
        harness=evil,
        rows=({"encoder": evil, "pearson": 0.5, "source": "quoted"},),
        notes=(evil,),
        figures=tuple(
            Figure(kind, evil, evil, evil, series, diagonal=kind == "line")  # type: ignore[arg-type]
            for kind, series in (
                ("scatter", (Series(evil, (0.0, 5.0), (0.1, float("nan"))),)),
                ("histogram", (Series(evil, (0.1, 0.2, 0.2)), Series("none", ()))),
                ("line", (Series(evil, (0.0, 1.0), (0.0, 1.0)),)),
                ("scatter", (Series("nothing", (), ()),)),
            )
        ),
        examples=(
            Example(evil, evil, "One <i>two</i> three", (4, 15), (9, 20), evil),
            Example(evil, evil, "One", None, None, evil),
        ),
    )
    html = render_report(made)
    page = _Page()
    page.feed(html)
    assert not page.open
    assert not page.seen & {"script", "b", "i", "link", "img"}
    assert {"table", "svg", "circle", "rect", "polyline"} <= page.seen
    assert evil in page.text
    assert "http" not in html
    assert "prefers-color-scheme: dark" in html
    assert '<span class="found gold">o&lt;/i&gt; </span>' in html
