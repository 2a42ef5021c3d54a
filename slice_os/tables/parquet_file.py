"""Tables as Parquet."""

from __future__ import annotations

from pathlib import Path

from slice_os.tables.frames import arrow_schema
from slice_os.tables.table import Table

_ROWS = 16_384


def write(table: Table, path: Path) -> None:
    """Write a Parquet file, in row groups that bound the memory.

    Args:
        table: the rows.
        path: the file.

    Raises:
        MissingExtraError: without pyarrow.
    """
    schema = arrow_schema(table)
    import pyarrow as pa
    from pyarrow import parquet

    with parquet.ParquetWriter(path, schema) as writer:
        for cells in table.batches(_ROWS):
            arrays = [pa.array(one, field.type) for one, field in zip(cells, schema, strict=True)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
