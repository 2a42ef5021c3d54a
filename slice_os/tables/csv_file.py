"""Tables as CSV, safe to open in a spreadsheet."""

from __future__ import annotations

import csv
from pathlib import Path

from slice_os.tables.table import Cell, Table, joined

# A spreadsheet takes a cell that begins with one of these for a formula, full-width ones too.
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


def write(table: Table, path: Path) -> None:
    """Write UTF-8 with a header, as in RFC 4180.

    A text that begins like a formula gets an apostrophe before it. A missing value becomes an
    empty cell, and a list of texts is joined by "; ".
    """
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([_escaped(one.name) for one in table.columns])
        writer.writerows([_written(cell) for cell in row] for row in table)


def _written(cell: Cell) -> str | int | float:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, (int, float)):
        return cell
    return _escaped(cell if isinstance(cell, str) else joined(cell))


def _escaped(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text
