"""Tables as data frames of Arrow, pandas and polars, and as Parquet.

Each function raises a `MissingExtraError` without the library that it is about.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slice_os.errors import imported
from slice_os.tables.table import Cell, Kind, Table

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

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
