"""Results: tables, saving, loading and comparing; and the report."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from html.parser import HTMLParser
from pathlib import Path

import pytest

from slice_os.datasets.files import DataFile
from slice_os.errors import InputError
from slice_os.evaluation.report.page import render_report
from slice_os.evaluation.results import Evaluation, Example, Figure, Series, Table, compare

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


def test_a_wide_table_has_all_columns_and_joins_the_ends_of_intervals() -> None:
    lines = evaluation().table(wide=True).splitlines()
    assert lines[0].split() == ["encoder", "size", "pearson", "95", "%", "note"]
    assert lines[2].split() == ["a", "5", "0.512", "0.400", "…", "0.600"]
    assert lines[-1] == "One note."
    assert "--wide" not in "\n".join(lines)


def test_a_table_has_the_five_columns_that_matter_most() -> None:
    measured = {"questions": 25, "map": 0.5, "map_low": 0.4, "map_high": 0.6, "mrr": 0.75}
    rows = tuple(
        {"encoder": name, "set": "dev", "size": size, "cached": cached, **measured, "seconds": 1.5}
        for name, size, cached in (("a", 5, True), ("a", 10, True), ("b", 5, False))
    )
    made = evaluation(rows=rows)
    lines = made.table().splitlines()
    # The set is the same in all rows, and the number of questions is a count.
    assert lines[0].split() == ["encoder", "size", "cached", "map", "95", "%"]
    assert lines[-2:] == ["(4 more columns: --wide)", "One note."]
    assert str(made) == made.table()
    named = evaluation(rows=rows, main=("mrr", "map"))
    # The columns keep their order, and only an interval that fits is shown.
    assert named.table().splitlines()[0].split() == ["encoder", "size", "cached", "map", "mrr"]
    assert named.to_json() == evaluation(rows=rows, date=named.date).to_json()


def test_a_table_with_few_columns_shows_them_all() -> None:
    made = evaluation(rows=({"encoder": "a", "pearson": 0.5},), notes=())
    assert made.table() == made.table(wide=True)
    assert evaluation(rows=(), notes=()).table().strip() == ""


def test_empty_columns_are_omitted() -> None:
    table = Table.of([{"a": 1, "b": None}, {"a": 2, "b": None}])
    assert table.titles == ("a",)
    assert Table.of([{"x": 1234, "y": "s", "z": True}]).cells == (("1,234", "s", "yes"),)
    assert "| ---: | --- |" in Table.of([{"x": 1.5, "y": "s"}]).markdown()


def test_a_saved_result_can_be_loaded(tmp_path: Path) -> None:
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
def test_the_error_names_a_file_that_is_not_a_result(tmp_path: Path, content: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"other\.json.*expected what `slice-os eval"):
        Evaluation.load(path)
    with pytest.raises(InputError, match="not found"):
        Evaluation.load(tmp_path / "missing.json")


def test_comparisons_match_rows_by_names_and_keys() -> None:
    other = evaluation(
        rows=({**ROWS[1], "pearson": 0.5}, {"encoder": "c", "size": 5, "pearson": 0.1}), data=()
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
    lines = comparison.table().splitlines()
    assert lines[0].split() == ["encoder", "figure", "first", "second", "difference"]
    assert lines[2].split() == ["a", "pearson", "0.750", "0.500", "-0.250"]
    assert comparison.table(wide=True).splitlines()[0].split()[:2] == ["encoder", "size"]


def test_a_comparison_names_rows_by_what_tells_them_apart() -> None:
    rows = tuple(
        {"encoder": encoder, "set": "dev", "size": size, "pearson": 0.5}
        for encoder in ("a", "b")
        for size in (None, 5)
    )
    made = evaluation(rows=rows, notes=())
    lines = compare(made, made).table().splitlines()
    assert lines[0].startswith("encoder / size  figure")
    assert [line.split("  ")[0] for line in lines[2:6]] == ["a / –", "a / 5", "b / –", "b / 5"]
    assert lines[6] == "(2 more columns: --wide)"


def test_different_harnesses_cannot_be_compared() -> None:
    with pytest.raises(InputError, match="cannot compare test with other"):
        compare(evaluation(), evaluation(harness="other"))


class _Page(HTMLParser):
    """Checks that tags are balanced and that nothing is fetched."""

    empty = frozenset({"meta", "br"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.ids: list[str] = []
        self.references: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        given = {name: value or "" for name, value in attrs}
        assert not {"src", "onload", "onclick"} & given.keys()
        for name, value in given.items():
            if name == "href":
                assert value.startswith("#")
                self.references.add(value[1:])
            elif name in {"aria-labelledby", "aria-describedby"}:
                self.references.update(value.split())
            elif name == "id":
                self.ids.append(value)
            if "url(" in value:
                assert value.startswith("url(#")
                self.references.add(value[5:-1])
        if tag not in self.empty:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.empty:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


EVIL = '<script>alert("x")</script> & <b> $\\frac{1$ _漢'
FIGURES = tuple(
    Figure(kind, EVIL, EVIL, EVIL, series, diagonal=kind == "line")  # type: ignore[arg-type]
    for kind, series in (
        ("scatter", (Series(EVIL, (0.0, 5.0), (0.1, float("nan"))), Series("", (1.0,), (2.0,)))),
        ("histogram", (Series(EVIL, (0.1, 0.2, 0.2)), Series("none", ()))),
        ("histogram", (Series(EVIL, (0.5,)),)),
        ("line", (Series(EVIL, (0.0, 1.0), (0.0, 1.0)),)),
        ("scatter", (Series("nothing", (), ()),)),
    )
)


def read_page(made: Evaluation) -> tuple[str, _Page]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        html = render_report(made)
    page = _Page()
    page.feed(html)
    assert not page.open
    return html, page


def test_a_report_is_one_file_with_everything_escaped() -> None:
    made = evaluation(
        harness=EVIL,
        rows=({"encoder": EVIL, "pearson": 0.5, "source": "quoted"},),
        data=(DataFile(EVIL, EVIL, 3),),
        settings={EVIL: [EVIL, 5]},
        notes=(EVIL,),
        figures=FIGURES,
        examples=(
            Example(EVIL, EVIL, "One <i>two</i> three", (4, 15), (9, 20), EVIL),
            Example(EVIL, EVIL, "One", None, None, EVIL),
        ),
    )
    html, page = read_page(made)
    assert not page.seen & {"script", "b", "i", "link", "img", "image"}
    assert {"table", "svg", "use", "path", "title", "desc"} <= page.seen
    assert page.text.count(EVIL) > 20
    assert "Nothing to show." in page.text
    assert "http" not in html
    assert '<span class="found gold">o&lt;/i&gt; </span>' in html


def test_ids_of_a_report_are_unique_and_every_reference_has_its_target() -> None:
    _, page = read_page(evaluation(figures=FIGURES + FIGURES))
    assert len(page.ids) == len(set(page.ids))
    assert page.references
    assert page.references <= set(page.ids)


def test_plots_of_a_report_follow_light_and_dark() -> None:
    html, _ = read_page(evaluation(figures=FIGURES))
    style, svg = html.split("</style>")
    assert "prefers-color-scheme: dark" in style
    used = set(re.findall(r"var\(--([\w-]+)\)", svg))
    assert {"series-0", "series-1", "soft", "line"} <= used
    assert all(style.count(f"--{name}: ") == 2 for name in used)
    # Nothing has a colour of its own, such as matplotlib's black.
    assert not re.findall(r"(?:fill|stroke|color): ?#", svg)


def test_a_report_is_the_same_each_time() -> None:
    made = evaluation(figures=FIGURES)
    assert render_report(made) == render_report(made)


@pytest.mark.parametrize("missing", ["jinja2", "matplotlib"])
def test_without_the_extra_a_report_names_the_install_line(missing: str) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; import slice_os.evaluation.report.page"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    last = done.stderr.strip().splitlines()[-1]
    assert last.endswith("A report needs an extra: pip install 'slice-os[eval]'")
