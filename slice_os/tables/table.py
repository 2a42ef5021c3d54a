"""Dataclasses as records, tables whose columns are known after the last record, and data frames."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_origin

import orjson

from slice_os.errors import InputError, imported
from slice_os.records import required, type_hints

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow


Kind: TypeAlias = Literal["text", "integer", "real", "flag", "texts"]
"""Type of a column's cells; ``texts`` is a list of texts in each."""

_TIMES = ("start_time", "end_time")
_KINDS: dict[Any, Kind] = {str: "text", int: "integer", float: "real", bool: "flag"}

Cell: TypeAlias = str | int | float | bool | list[str] | None
Record: TypeAlias = Mapping[str, Any]

_PARQUET_ROWS = 16_384
# Types of Arrow, polars, and pandas without and with a missing value; there, whole numbers would
# become real ones, and flags objects. The cells of "texts" are lists of the type.
_TYPES: dict[Kind, tuple[str, str, Any, Any]] = {
    "text": ("string", "String", object, object),
    "integer": ("int64", "Int64", "int64", "Int64"),
    "real": ("float64", "Float64", "float64", "float64"),
    "flag": ("bool_", "Boolean", "bool", "boolean"),
    "texts": ("string", "String", object, object),
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, with dots where records are nested, and the kind of its cells."""

    name: str
    kind: Kind


def columns_of(hints: Iterable[tuple[str, Any]]) -> Iterator[Column]:
    """The columns of typed fields; nested dataclasses give several, open mappings none."""
    for name, hint in hints:
        kind = required(hint)
        if is_dataclass(kind) and isinstance(kind, type):
            inner = type_hints(kind)
            yield from columns_of((f"{name}.{one.name}", inner[one.name]) for one in fields(kind))
        elif get_origin(kind) is tuple:
            yield Column(name, "texts")
        elif kind in _KINDS:
            yield Column(name, _KINDS[kind])


def flattened(record: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a nested record, their names joined by dots."""
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def paired(texts: Sequence[str]) -> str:
    """Two texts that belong together as one, for people."""
    return " ↔ ".join(texts)


def shown(name: str, value: Any) -> str:
    """The value of a field for people; times of turns as a clock has them: 4:43, or 1:02:03."""
    if name not in _TIMES or isinstance(value, (str, bool)):
        return str(value)
    minutes, seconds = divmod(max(0, int(value)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def json_object(line: bytes, where: str) -> dict[str, Any]:
    """Read a line of JSON as an object, or raise an InputError that names its place."""
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{where}: not valid JSON ({error})") from None
    if not isinstance(row, dict):
        raise InputError(f"{where}: no JSON object")
    return row


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells.

    Attributes:
        columns: their names and kinds; every cell is of its column's kind, or None.
        records: flat records; those of `spooled` can be read once.
    """

    columns: tuple[Column, ...]
    records: Iterable[Record]

    def __iter__(self) -> Iterator[tuple[Cell, ...]]:
        for record in self.records:
            yield tuple(_cell(record.get(one.name), one.kind) for one in self.columns)

    def batches(self, size: int | None) -> Iterator[list[list[Cell]]]:
        """Batches of so many rows, or of all, as a list for each column."""
        left = iter(self)
        while rows := list(islice(left, size)):
            yield [list(column) for column in zip(*rows, strict=True)]

    def by_column(self) -> list[list[Cell]]:
        """All rows, as a list for each column."""
        return next(self.batches(None), [[] for _ in self.columns])


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
        spool.seek(0)
        yield Table(_columns(kinds), map(orjson.loads, spool))


def joined(texts: Sequence[str]) -> str:
    """A list of texts in one cell, where a format has no lists."""
    return "; ".join(texts)


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


def to_arrow(table: Table) -> pyarrow.Table:
    """An Arrow table."""
    pa, schema = _arrow_schema(table)
    return pa.Table.from_arrays(_arrays(pa, schema, table.by_column()), schema=schema)


def write_parquet(table: Table, path: Path) -> None:
    """Write a Parquet file, in row groups that bound the memory."""
    pa, schema = _arrow_schema(table)
    from pyarrow import parquet

    with parquet.ParquetWriter(path, schema) as writer:
        for columns in table.batches(_PARQUET_ROWS):
            arrays = _arrays(pa, schema, columns)
            writer.write_batch(pa.record_batch(arrays, schema=schema))


def _arrow_schema(table: Table) -> tuple[Any, Any]:
    """Return pyarrow and the types of the columns."""
    pa = imported("pyarrow", "Arrow and Parquet", "tables")
    fields = []
    for column in table.columns:
        kind = getattr(pa, _TYPES[column.kind][0])()
        fields.append((column.name, pa.list_(kind) if column.kind == "texts" else kind))
    return pa, pa.schema(fields)


def _arrays(pa: Any, schema: Any, columns: Sequence[Sequence[Cell]]) -> list[Any]:
    return [pa.array(cells, field.type) for cells, field in zip(columns, schema, strict=True)]


def to_pandas(table: Table) -> pandas.DataFrame:
    """A frame of pandas."""
    pd = imported("pandas", "a frame of pandas", "pandas")
    frame: dict[str, Any] = {}
    for column, cells in zip(table.columns, table.by_column(), strict=True):
        _, _, full, gaps = _TYPES[column.kind]
        frame[column.name] = pd.Series(cells, dtype=gaps if None in cells else full)
    return pd.DataFrame(frame)


def to_polars(table: Table) -> polars.DataFrame:
    """A frame of polars."""
    pl = imported("polars", "a frame of polars", "polars")
    frame = []
    for column, cells in zip(table.columns, table.by_column(), strict=True):
        kind = getattr(pl, _TYPES[column.kind][1])
        kind = pl.List(kind) if column.kind == "texts" else kind
        frame.append(pl.Series(column.name, cells, kind))
    return pl.DataFrame(frame)
