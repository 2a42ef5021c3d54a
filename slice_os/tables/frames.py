"""Tables as data frames of Arrow, pandas and polars, and as Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from slice_os.errors import MissingExtraError
from slice_os.tables.fields import Kind
from slice_os.tables.table import Table

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

_PARQUET_ROWS = 16_384
# Types of pandas: with a missing value, whole numbers would become real ones, and flags objects.
_PANDAS: dict[Kind, tuple[Any, Any]] = {
    "text": (object, object),
    "integer": ("int64", "Int64"),
    "real": ("float64", "float64"),
    "flag": ("bool", "boolean"),
    "texts": (object, object),
}


def arrow_schema(table: Table) -> pyarrow.Schema:
    """The types of the columns.

    Raises:
        MissingExtraError: without pyarrow.
    """
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError("Arrow and Parquet", "tables") from None
    kinds: dict[Kind, Any] = {
        "text": pa.string(),
        "integer": pa.int64(),
        "real": pa.float64(),
        "flag": pa.bool_(),
        "texts": pa.list_(pa.string()),
    }
    return pa.schema([(one.name, kinds[one.kind]) for one in table.columns])


def to_arrow(table: Table) -> pyarrow.Table:
    """An Arrow table.

    Raises:
        MissingExtraError: without pyarrow.
    """
    schema = arrow_schema(table)
    import pyarrow as pa

    return pa.Table.from_arrays(
        [
            pa.array(cells, field.type)
            for cells, field in zip(table.by_column(), schema, strict=True)
        ],
        schema=schema,
    )


def write_parquet(table: Table, path: Path) -> None:
    """Write a Parquet file, in row groups that bound the memory.

    Raises:
        MissingExtraError: without pyarrow.
    """
    schema = arrow_schema(table)
    import pyarrow as pa
    from pyarrow import parquet

    with parquet.ParquetWriter(path, schema) as writer:
        for cells in table.batches(_PARQUET_ROWS):
            arrays = [pa.array(one, field.type) for one, field in zip(cells, schema, strict=True)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))


def to_pandas(table: Table) -> pandas.DataFrame:
    """A frame of pandas.

    Raises:
        MissingExtraError: without pandas.
    """
    try:
        import pandas as pd
    except ImportError:
        raise MissingExtraError("a frame of pandas", "pandas") from None
    frame: dict[str, Any] = {}
    for column, cells in zip(table.columns, table.by_column(), strict=True):
        full, gaps = _PANDAS[column.kind]
        frame[column.name] = pd.Series(cells, dtype=gaps if None in cells else full)
    return pd.DataFrame(frame)


def to_polars(table: Table) -> polars.DataFrame:
    """A frame of polars.

    Raises:
        MissingExtraError: without polars.
    """
    try:
        import polars as pl
    except ImportError:
        raise MissingExtraError("a frame of polars", "polars") from None
    kinds: dict[Kind, Any] = {
        "text": pl.String,
        "integer": pl.Int64,
        "real": pl.Float64,
        "flag": pl.Boolean,
        "texts": pl.List(pl.String),
    }
    return pl.DataFrame(
        [
            pl.Series(column.name, cells, kinds[column.kind])
            for column, cells in zip(table.columns, table.by_column(), strict=True)
        ]
    )
