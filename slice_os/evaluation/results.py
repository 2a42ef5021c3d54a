"""What an evaluation gives: rows of figures with their provenance, shown, saved and compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from math import isfinite
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeGuard

import orjson

from slice_os.datasets.files import DataFile
from slice_os.errors import InputError
from slice_os.version import __version__

Cell: TypeAlias = str | int | float | bool | None
Row: TypeAlias = Mapping[str, Cell]

_RENAMED = {"setup": "setting", "setups": "settings", "depth": "num_candidates"}


@dataclass(frozen=True, slots=True)
class Series:
    """Points of a figure: ``y`` of each ``x``; for a histogram only ``x``, the values."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """A plot of the report.

    Attributes:
        kind: ``scatter``; ``histogram``: values of each series, counted in common bins;
            ``line``: points joined in order.
        title: what it shows.
        x_label: of the horizontal axis.
        y_label: of the vertical axis.
        series: at most eight.
        diagonal: whether a line of equal x and y helps, as under calibration curves.
    """

    kind: Literal["scatter", "histogram", "line"]
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    diagonal: bool = False


@dataclass(frozen=True, slots=True)
class Example:
    """A hit or a miss, shown in its context in the report.

    Attributes:
        group: heading that it stands under, such as the encoder and "too high".
        query: the phrase looked for.
        text: where it was looked for.
        found: ``(start, end)`` characters that the encoder chose; None if it chose none.
        gold: ``(start, end)`` characters that are right; None if they are not known.
        note: scores and the like.
    """

    group: str
    query: str
    text: str
    found: tuple[int, int] | None
    gold: tuple[int, int] | None
    note: str


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The outcome of a harness.

    Attributes:
        harness: its name on the command line.
        rows: figures; the same key means the same in each row, and a row may lack keys.
        data: files that they come from.
        settings: options that bear on the figures, as JSON can carry them.
        notes: what a reader has to know, a sentence each.
        date: UTC, to the second.
        version: of this library.
        keys: columns of numbers that tell rows apart, as all strings and booleans do.
        figures: plots for the report; not saved.
        examples: for the report; not saved, as they quote the data.
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
    figures: tuple[Figure, ...] = ()
    examples: tuple[Example, ...] = ()

    def to_json(self) -> bytes:
        """Everything but figures and examples, as indented JSON; nan becomes null."""
        content = {
            "harness": self.harness,
            "date": self.date,
            "version": self.version,
            "data": [asdict(file) for file in self.data],
            "settings": dict(self.settings),
            "notes": list(self.notes),
            "keys": list(self.keys),
            "rows": [{key: _rounded(cell) for key, cell in row.items()} for row in self.rows],
        }
        return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)

    def save(self, path: str | Path) -> None:
        """Write `to_json` to a file."""
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_bytes(self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> Evaluation:
        """Read what `save` wrote.

        Raises:
            InputError: if there is no such file, or it is no saved evaluation.
        """
        expected = "expected what `slice-os eval … --out FILE` writes"
        try:
            raw = orjson.loads(Path(path).read_bytes())
        except FileNotFoundError:
            raise InputError(f"{path}: not found; {expected}") from None
        except orjson.JSONDecodeError as error:
            raise InputError(f"{path}: not valid JSON ({error}); {expected}") from None
        try:
            return cls(
                harness=raw["harness"],
                rows=tuple(_renamed(row) for row in raw["rows"]),
                data=tuple(DataFile(**file) for file in raw["data"]),
                settings=_renamed(raw["settings"]),
                notes=tuple(raw["notes"]),
                date=raw["date"],
                version=raw["version"],
                keys=tuple(raw["keys"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path}: not a saved evaluation ({error!r}); {expected}") from None

    def table(self) -> str:
        """The rows as an aligned table for a terminal, with the notes below."""
        return "\n".join([Table.of(self.rows).aligned(), *self.notes])

    def __str__(self) -> str:
        return self.table()


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two evaluations side by side: ``rows`` have both values and their difference."""

    rows: tuple[Row, ...]
    notes: tuple[str, ...]

    def table(self) -> str:
        """The rows as an aligned table for a terminal, with the notes below."""
        return "\n".join([Table.of(self.rows).aligned(), *self.notes])


def compare(first: Evaluation, second: Evaluation) -> Comparison:
    """Differences of the figures of rows that stand in both evaluations.

    Rows are the same where all their strings, booleans and `Evaluation.keys` are.

    Raises:
        InputError: if they come from different harnesses.
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
    for place, lonely in (("first", ours.keys() - theirs), ("second", theirs.keys() - ours)):
        if lonely:
            named = sorted(" ".join(str(cell) for _, cell in key) for key in lonely)
            notes.append(f"Only in the {place}: {'; '.join(named)}.")
    return Comparison(rows, tuple(notes))


def show(cell: Cell) -> str:
    """A cell as people read it: fractions to three or four decimals, nothing for None."""
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
class Table:
    """Rows as text: titles of the columns, a cell for each, and which columns are of numbers.

    Columns that are empty throughout are left out. The ends of an interval, such as
    ``pearson_low`` and ``pearson_high``, stand together behind what they are of.
    """

    titles: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    numeric: tuple[bool, ...]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Table:
        """The rows of an evaluation or a comparison."""
        columns = [
            key
            for key in dict.fromkeys(key for row in rows for key in row)
            if any(row.get(key) is not None for row in rows)
        ]
        ends = {
            f"{key}{end}": key
            for key in columns
            for end in ("_low", "_high")
            if f"{key}_low" in columns and f"{key}_high" in columns
        }
        titles: list[str] = []
        cells: list[list[str]] = []
        numeric: list[bool] = []
        for key in columns:
            if key in ends:
                continue
            titles.append(key.replace("_", " "))
            cells.append([show(row.get(key)) for row in rows])
            numeric.append(all(row.get(key) is None or is_number(row.get(key)) for row in rows))
            if f"{key}_low" in ends:
                titles.append("95 %")
                cells.append(
                    [_interval(row.get(f"{key}_low"), row.get(f"{key}_high")) for row in rows]
                )
                numeric.append(True)
        return cls(tuple(titles), tuple(zip(*cells, strict=True)), tuple(numeric))

    def aligned(self) -> str:
        """Columns as wide as they have to be, numbers flush right."""
        widths = [max(map(len, column)) for column in zip(self.titles, *self.cells, strict=True)]

        def line(row: Sequence[str]) -> str:
            parts = zip(row, widths, self.numeric, strict=True)
            return "  ".join(
                cell.rjust(width) if right else cell.ljust(width) for cell, width, right in parts
            ).rstrip()

        rule = line(["-" * width for width in widths])
        return "\n".join([line(self.titles), rule, *map(line, self.cells)])

    def markdown(self) -> str:
        """A table of Markdown."""
        rule = ["---:" if right else "---" for right in self.numeric]
        return "\n".join(f"| {' | '.join(row)} |" for row in (self.titles, rule, *self.cells))


def _interval(low: Cell, high: Cell) -> str:
    return "" if low is None or high is None else f"{show(low)} … {show(high)}"


def is_number(cell: Cell) -> TypeGuard[int | float]:
    """Whether a cell is a figure; booleans are none."""
    return isinstance(cell, (int, float)) and not isinstance(cell, bool)


def _key(row: Row, keys: Sequence[str]) -> tuple[tuple[str, Cell], ...]:
    return tuple(
        (column, cell)
        for column, cell in row.items()
        if isinstance(cell, (str, bool)) or column in keys
    )


def _renamed(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of a saved result, those by a former name by today's."""
    return {_RENAMED.get(name, name): value for name, value in dict(fields).items()}


def _rounded(cell: Cell) -> Cell:
    """Six significant digits; nan and infinities, which JSON has not, as None."""
    if isinstance(cell, float):
        return float(f"{cell:.6g}") if isfinite(cell) else None
    return cell
