"""Tables whose columns are known after the last record."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeAlias

import orjson

from slice_os.tables.fields import Column, Kind, flattened, paired

Cell: TypeAlias = str | int | float | bool | list[str] | None
Record: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells.

    Attributes:
        columns: their names and kinds; every cell is of its column's kind, or None.
        records: flat records, which can be read more than once.
    """

    columns: tuple[Column, ...]
    records: Iterable[Record]

    def __iter__(self) -> Iterator[tuple[Cell, ...]]:
        for record in self.records:
            yield tuple(_cell(record.get(one.name), one.kind) for one in self.columns)

    def batches(self, size: int) -> Iterator[list[list[Cell]]]:
        """Batches of so many rows, as a list for each column."""
        left = iter(self)
        while rows := list(islice(left, size)):
            yield _by_column(rows)

    def by_column(self) -> list[list[Cell]]:
        """All rows, as a list for each column."""
        return _by_column(list(self)) or [[] for _ in self.columns]


def collected(records: Iterable[Record], columns: Sequence[Column]) -> Table:
    """A table in memory of nested records, with these columns first and others as found."""
    kinds = {one.name: one.kind for one in columns}
    seen = [_seen(record, kinds) for record in records]
    return Table(_columns(kinds), seen)


@contextmanager
def spooled(records: Iterable[Record], columns: Sequence[Column], folder: Path) -> Iterator[Table]:
    """A table in a temporary file in a folder, for more records than fit into memory."""
    kinds = {one.name: one.kind for one in columns}
    with tempfile.TemporaryFile(dir=folder) as spool:
        for record in records:
            spool.write(orjson.dumps(_seen(record, kinds), option=orjson.OPT_APPEND_NEWLINE))
        yield Table(_columns(kinds), _Lines(spool))


def joined(texts: Sequence[str]) -> str:
    """A list of texts in one cell, where a format has no lists."""
    return "; ".join(texts)


@dataclass(frozen=True, slots=True)
class _Lines:
    """The records of a file of JSON lines."""

    stream: IO[bytes]

    def __iter__(self) -> Iterator[Record]:
        self.stream.seek(0)
        return map(orjson.loads, self.stream)


def _seen(record: Record, kinds: dict[str, Kind]) -> dict[str, Any]:
    """Flatten a record, and add its columns to those known."""
    flat = dict(flattened(record))
    for name, value in flat.items():
        if value is not None:
            kinds[name] = _common(kinds.get(name), _kind(value))
    return flat


def _columns(kinds: Mapping[str, Kind]) -> tuple[Column, ...]:
    return tuple(Column(name, kind) for name, kind in kinds.items())


def _kind(value: object) -> Kind:
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, (list, tuple)):
        return "texts"
    if isinstance(value, int):
        return "integer"
    return "real" if isinstance(value, float) else "text"


def _common(known: Kind | None, kind: Kind) -> Kind:
    """The kind of a column that holds both."""
    if known in (None, kind):
        return kind
    return "real" if {known, kind} == {"integer", "real"} else "text"


def _cell(value: Any, kind: Kind) -> Cell:
    if value is None:
        return None
    if kind == "real":
        return float(value)
    if kind == "texts":
        return [paired(one) if isinstance(one, list) else str(one) for one in value]
    if kind == "text" and not isinstance(value, str):
        return orjson.dumps(value).decode()
    cell: Cell = value
    return cell


def _by_column(rows: Sequence[tuple[Cell, ...]]) -> list[list[Cell]]:
    return [list(column) for column in zip(*rows, strict=True)]
