"""Results of an evaluation: rows of figures with their provenance, to show, save and compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from itertools import chain
from math import isfinite
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias, TypeGuard

import orjson

from slice_os.datasets.files import DataFile, DataSource
from slice_os.errors import InputError
from slice_os.records import record
from slice_os.tables.replacing import replacing
from slice_os.version import __version__

Cell: TypeAlias = str | int | float | bool | None
Row: TypeAlias = Mapping[str, Cell]

MAIN_COLUMNS = 5


@dataclass(frozen=True, slots=True)
class Table:
    """Rows as text.

    Empty columns are left out. The ends of an interval, such as ``pearson_low`` and
    ``pearson_high``, share one column that follows the figure they belong to.
    """

    titles: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Table:
        """Format the rows of an evaluation or a comparison."""
        titles: list[str] = []
        cells: list[list[str]] = []
        numeric: list[bool] = []
        for key, ends in filled_columns(rows).items():
            titles.append(key.replace("_", " "))
            cells.append([show(row.get(key)) for row in rows])
            numeric.append(all(row.get(key) is None or is_number(row.get(key)) for row in rows))
            if ends:
                titles.append("95 %")
                pairs = [[row.get(end) for end in ends] for row in rows]
                cells.append(["" if None in one else " … ".join(map(show, one)) for one in pairs])
                numeric.append(True)
        return cls(tuple(titles), tuple(zip(*cells, strict=True)), tuple(numeric))

    def aligned(self) -> str:
        """The table for a terminal: columns as wide as their content, numbers flush right."""
        widths = [max(map(len, column)) for column in zip(self.titles, *self.cells, strict=True)]

        def line(row: Sequence[str]) -> str:
            parts = zip(row, widths, self.numeric, strict=True)
            return "  ".join(
                cell.rjust(width) if right else cell.ljust(width) for cell, width, right in parts
            ).rstrip()

        rule = line(["-" * width for width in widths])
        return "\n".join([line(self.titles), rule, *map(line, self.cells)])

    def markdown(self) -> str:
        """The table in Markdown."""
        rule = ["---:" if right else "---" for right in self.numeric]
        return "\n".join(f"| {' | '.join(row)} |" for row in (self.titles, rule, *self.cells))


def terminal_text(shown: Sequence[Row], rows: Sequence[Row], notes: Sequence[str]) -> str:
    """A table for a terminal, followed by a hint at hidden columns and by the notes."""
    table = Table.of(shown)
    hidden = len(Table.of(rows).titles) - len(table.titles)
    hint = [f"({hidden} more column{'s' if hidden > 1 else ''}: --wide)"] if hidden > 0 else []
    return "\n".join([table.aligned(), *hint, *notes])


def main_columns(rows: Sequence[Row], identity: Sequence[str], main: Sequence[str]) -> list[Row]:
    """The rows with the few columns that matter most, in their order.

    These are the columns of ``identity`` that tell the rows apart, then the main figures with
    their intervals; if ``main`` is empty, figures that are not counts come first.
    """
    columns = filled_columns(rows)
    figures = main or [
        key
        for key in columns
        if key not in identity and any(isinstance(row.get(key), float) for row in rows)
    ]
    names = distinguishing(rows, identity)[: MAIN_COLUMNS - 1]
    shown = [part for key in figures for part in ([key], columns.get(key)) if part]
    chosen = {*names, *chain.from_iterable(shown[: MAIN_COLUMNS - len(names)])}
    return [{key: cell for key, cell in row.items() if key in chosen} for row in rows]


def distinguishing(rows: Sequence[Row], identity: Sequence[str]) -> list[str]:
    """The first of the columns, and every other one that is not the same in all rows."""
    filled = [key for key in filled_columns(rows) if key in identity]
    return filled[:1] + [key for key in filled[1:] if len({row.get(key) for row in rows}) > 1]


def filled_columns(rows: Sequence[Row]) -> dict[str, tuple[str, str] | None]:
    """Columns with a value in some row, in order of appearance, and the ends of their intervals."""
    keys = dict.fromkeys(key for row in rows for key in row)
    filled = [key for key in keys if any(row.get(key) is not None for row in rows)]
    pairs = {key: (f"{key}_low", f"{key}_high") for key in filled}
    ends = {key: pair for key, pair in pairs.items() if set(pair) <= pairs.keys()}
    inner = set(chain.from_iterable(ends.values()))
    return {key: ends.get(key) for key in filled if key not in inner}


def is_number(cell: Cell) -> TypeGuard[int | float]:
    """Whether a cell is a figure; a boolean is not."""
    return isinstance(cell, (int, float)) and not isinstance(cell, bool)


def show(cell: Cell) -> str:
    """A cell as people read it: fractions to three or four digits, nothing for None."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, int):
        return f"{cell:,}"
    if isinstance(cell, float):
        if not isfinite(cell):
            return "–"
        if cell and abs(cell) < 0.001:
            return f"{cell:.0e}"
        return f"{cell:,.1f}" if abs(cell) >= 100 else f"{cell:.3f}"
    return cell


@dataclass(frozen=True, slots=True)
class Series:
    """The points of one data series; a histogram needs only ``x``, the values."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot of the report, with eight series at most.

    A ``line`` joins points in order; a ``histogram`` counts the values of all series in the same
    bins, and ``y_label`` says what is counted. The ``diagonal`` is the line of equal x and y, as in
    a calibration curve.
    """

    kind: Literal["scatter", "histogram", "line"]
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    diagonal: bool = False


@dataclass(frozen=True, slots=True)
class Example:
    """A hit or a miss that the report shows in context, under the heading of its group.

    ``found`` are the ``(start, end)`` of the characters that the encoder chose, ``gold`` those of
    the right ones; None if it chose none, or they are unknown.
    """

    group: str
    query: str
    text: str
    found: tuple[int, int] | None
    gold: tuple[int, int] | None
    note: str


_SAVED = ("harness", "date", "version", "data", "settings", "notes", "keys", "rows")
SAVED = DataSource("what `slice-os eval … --out FILE` writes")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The result of a harness.

    Attributes:
        harness: its name on the command line.
        rows: a key means the same in every row, and a row may lack keys.
        data: the files they were measured on.
        settings: options that affect the figures, as JSON values.
        notes: what a reader has to know, one sentence each.
        date: UTC, to the second.
        version: of this library.
        keys: columns of numbers that identify a row, in addition to strings and booleans.
        main: the most important columns of figures, for the short table; not saved. By default
            those that are not counts, in order.
        figures: plots for the report; not saved.
        examples: for the report; not saved, because they quote the data.
    """

    harness: str
    rows: tuple[Row, ...]
    data: tuple[DataFile, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    date: str = field(
        default_factory=lambda: datetime.now(timezone.utc).isoformat(timespec="seconds")
    )
    version: str = __version__
    keys: tuple[str, ...] = ()
    main: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    examples: tuple[Example, ...] = ()

    def to_json(self) -> bytes:
        """Serialise everything that is saved as indented JSON; NaN becomes null."""
        content = {name: getattr(self, name) for name in _SAVED}
        content["rows"] = [{k: _rounded(cell) for k, cell in row.items()} for row in self.rows]
        return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)

    def save(self, path: str | Path) -> None:
        """Write `to_json` to a file and create its folder if necessary."""
        with replacing(Path(path)) as part:
            part.write_bytes(self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> Evaluation:
        """Read a file that `save` wrote; `InputError` if it is missing or something else."""
        raw = SAVED.json(Path(path))
        try:
            return record(cls, {name: raw[name] for name in _SAVED})
        except (KeyError, TypeError, InputError) as error:
            raise SAVED.malformed(Path(path), f"not a saved evaluation ({error!r})") from None

    def table(self, wide: bool = False) -> str:
        """The five columns that matter most, or all, for a terminal, and the notes."""
        identity = [column for row in self.rows for column, _ in _key(row, self.keys)]
        rows = self.rows if wide else main_columns(self.rows, identity, self.main)
        return terminal_text(rows, self.rows, self.notes)

    def __str__(self) -> str:
        return self.table()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two evaluations side by side: a row for each figure, and how they differ otherwise."""

    FIGURES: ClassVar = ("figure", "first", "second", "difference")

    rows: tuple[Row, ...]
    notes: tuple[str, ...]

    def table(self, wide: bool = False) -> str:
        """The rows for a terminal, and the notes; unless wide, one column tells the rows apart."""
        if wide:
            return terminal_text(self.rows, self.rows, self.notes)
        identity = [key for key in filled_columns(self.rows) if key not in self.FIGURES]
        names = distinguishing(self.rows, identity)
        title = " / ".join(names)
        short: list[Row] = [
            {
                title: " / ".join(show(row.get(name)) or "–" for name in names),
                **{key: row[key] for key in self.FIGURES},
            }
            for row in self.rows
        ]
        return terminal_text(short, self.rows, self.notes)


def compare(first: Evaluation, second: Evaluation) -> Comparison:
    """Subtract the figures of the first evaluation from those of the second.

    Rows match by strings, booleans and `Evaluation.keys`; two harnesses are an `InputError`.
    """
    if first.harness != second.harness:
        raise InputError(
            f"cannot compare {first.harness} with {second.harness}; give two of one harness"
        )
    ours, theirs = ({_key(row, one.keys): row for row in one.rows} for one in (first, second))
    rows = tuple(
        {
            **dict(key),
            "figure": column,
            "first": value,
            "second": against,
            "difference": against - value,
        }
        for key, row in ours.items()
        for column, value in row.items()
        if key in theirs and column not in dict(key)
        if is_number(value) and is_number(against := theirs[key].get(column))
    )
    notes = []
    if {file.sha256 for file in first.data} != {file.sha256 for file in second.data}:
        notes.append("The data files differ.")
    if dict(first.settings) != dict(second.settings):
        notes.append("The settings differ.")
    for which, unmatched in (("first", ours.keys() - theirs), ("second", theirs.keys() - ours)):
        if unmatched:
            named = sorted(" ".join(str(cell) for _, cell in key) for key in unmatched)
            notes.append(f"Only in the {which}: {'; '.join(named)}.")
    return Comparison(rows, tuple(notes))


def _key(row: Row, keys: Sequence[str]) -> tuple[tuple[str, Cell], ...]:
    """The cells that identify a row: strings, booleans and those of ``keys``."""
    return tuple(
        (column, cell)
        for column, cell in row.items()
        if isinstance(cell, (str, bool)) or column in keys
    )


def _rounded(cell: Cell) -> Cell:
    """Round to six significant digits; NaN and infinity, which JSON lacks, become None."""
    if isinstance(cell, float):
        return float(f"{cell:.6g}") if isfinite(cell) else None
    return cell
