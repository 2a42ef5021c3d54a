"""Hits that people marked as right or wrong: JSON lines, or tables as `write_hits` writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from slice_os.errors import InputError
from slice_os.hits.hit import Hit
from slice_os.tables.spreadsheets import Row, read_csv, read_xlsx
from slice_os.tables.table import Kind, json_object

_RIGHT = {"✓", "✔", "✅", "y", "yes", "true", "1", "right"}
_WRONG = {"✗", "✘", "✕", "✖", "❌", "n", "no", "false", "0", "wrong"}

# A new format is a function and a line here.
TABLES: dict[str, Callable[[Path], Iterator[tuple[str, Row]]]] = {
    ".csv": read_csv,
    ".xlsx": read_xlsx,
}


def labelled_rows(path: str | Path) -> Iterator[tuple[str, Row]]:
    """The place and the JSON of each hit, with ``label`` true, false, or None if nobody read it.

    In a table, the column ``label`` holds a check or a cross, or y or n.

    Raises an `InputError` that names file and place if a row is no hit, or its label unclear.
    """
    path = Path(path)
    rows = TABLES.get(path.suffix.lower())
    if rows is not None:
        yield from ((where, _hit(row, where)) for where, row in rows(path))
        return
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InputError(f"{path}: no labelled hits ({error.strerror})") from None
    for number, line in enumerate(lines, 1):
        if line.strip():
            row = json_object(line, where := f"{path}:{number}")
            if row.get("label") not in (True, False, None):  # or 1 and 0, which are equal to them
                raise InputError(f"{where}: field 'label' is neither true nor false")
            yield where, row


def _hit(cells: Row, where: str) -> Row:
    """The JSON of a hit from the cells of its row."""
    row: Row = {}
    for column in Hit.columns():
        if (cell := cells.get(column.name)) is not None and column.kind != "texts":
            value = _value(cell, column.kind, f"{where}: {column.name}")
            outer, _, inner = column.name.partition(".")
            if inner:
                row.setdefault(outer, {})[inner] = value
            else:
                row[outer] = value
    return {**row, "label": _label(cells.get("label"), where)}


def _label(cell: Any, where: str) -> bool | None:
    text = "" if cell is None else str(cell).strip().casefold()
    if text and text not in _RIGHT | _WRONG:
        raise InputError(f"{where}: label {text!r}: write ✓ or y if it is right, ✕ or n if not")
    return text in _RIGHT if text else None


def _value(cell: Any, kind: Kind, where: str) -> str | int | float:
    """A cell of a column; spreadsheets of some countries write numbers with a comma."""
    if kind not in ("integer", "real"):
        return str(cell)
    text = str(cell).strip().replace(",", ".")
    try:
        # Of a whole one, more digits than a zero behind the comma may be thousands.
        return float(text) if kind == "real" else int(text.removesuffix(".0"))
    except ValueError:
        wanted = "number" if kind == "real" else "whole number"
        raise InputError(f"{where}: {cell!r} is no {wanted}") from None
