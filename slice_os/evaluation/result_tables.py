"""Rows of figures as aligned text for a terminal, or as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TypeAlias, TypeGuard

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
        columns = filled_columns(rows)
        titles: list[str] = []
        cells: list[list[str]] = []
        numeric: list[bool] = []
        for key in columns:
            if _interval_of(key, columns):
                continue
            titles.append(key.replace("_", " "))
            cells.append([show(row.get(key)) for row in rows])
            numeric.append(all(row.get(key) is None or is_number(row.get(key)) for row in rows))
            if has_interval(key, columns):
                titles.append("95 %")
                ends = [(row.get(f"{key}_low"), row.get(f"{key}_high")) for row in rows]
                cells.append(["" if None in pair else " … ".join(map(show, pair)) for pair in ends])
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
        if not _interval_of(key, columns)
    ]
    chosen = distinguishing(rows, identity)[: MAIN_COLUMNS - 1]
    room = MAIN_COLUMNS - len(chosen)
    for key in figures:
        if room > 0:
            chosen.append(key)
            room -= 1
        if room > 0 and has_interval(key, columns):
            chosen += [f"{key}_low", f"{key}_high"]
            room -= 1
    return [{key: cell for key, cell in row.items() if key in chosen} for row in rows]


def distinguishing(rows: Sequence[Row], identity: Sequence[str]) -> list[str]:
    """The first of the columns, and every other one that is not the same in all rows."""
    filled = [key for key in filled_columns(rows) if key in identity]
    return filled[:1] + [key for key in filled[1:] if len({row.get(key) for row in rows}) > 1]


def filled_columns(rows: Sequence[Row]) -> list[str]:
    """Columns that have a value in some row, in order of appearance."""
    return [
        key
        for key in dict.fromkeys(key for row in rows for key in row)
        if any(row.get(key) is not None for row in rows)
    ]


def has_interval(key: str, columns: Sequence[str]) -> bool:
    """Whether a column is accompanied by the two ends of its interval."""
    return f"{key}_low" in columns and f"{key}_high" in columns


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


def _interval_of(key: str, columns: Sequence[str]) -> str | None:
    """The column whose interval a column is an end of, if any."""
    figure = key.removesuffix("_low").removesuffix("_high")
    return figure if figure != key and figure in columns and has_interval(figure, columns) else None
