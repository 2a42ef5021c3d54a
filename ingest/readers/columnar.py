"""Parquet and Arrow files: a record a row, read in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any, BinaryIO

from slice_os.errors import InputError, MissingExtraError
from slice_os.ingest.readers.reader import DocumentStream, ReadOptions, bad_record
from slice_os.ingest.readers.records import Record, documents_of
from slice_os.ingest.readers.tables import check_columns

_ROWS = 256


def read_parquet(source: str, stream: BinaryIO, options: ReadOptions) -> DocumentStream:
    """Yield a document or bad record for every row."""
    return _read(source, stream, options, _parquet)


def read_arrow(source: str, stream: BinaryIO, options: ReadOptions) -> DocumentStream:
    """Yield a document or bad record for every row."""
    return _read(source, stream, options, _arrow)


def _read(
    source: str,
    stream: BinaryIO,
    options: ReadOptions,
    batches: Callable[[BinaryIO, ReadOptions], Iterator[Any]],
) -> DocumentStream:
    try:
        import pyarrow as pa
    except ModuleNotFoundError:
        reason = str(MissingExtraError("this format", "tables"))
        yield bad_record(source, None, reason, "")
        return
    try:
        if not stream.seekable():
            stream = pa.BufferReader(stream.read())
        rows = (row for batch in batches(stream, options) for row in _rows(batch))
        yield from documents_of(source, _records(rows), options)
    except (InputError, pa.ArrowException, OSError, ValueError) as error:
        yield bad_record(source, None, str(error)[:300] or "damaged", "")


def _rows(batch: Any) -> list[dict[str, Any]]:
    # Reading a damaged batch that was not checked ends the process.
    batch.validate(full=True)
    rows: list[dict[str, Any]] = batch.to_pylist()
    return rows


def _records(rows: Iterator[dict[str, Any]]) -> Iterator[Record]:
    for number, row in enumerate(rows, 1):
        fields = {name: plain(value) for name, value in row.items() if value is not None}
        yield Record(number, fields, repr(row))


def _parquet(stream: BinaryIO, options: ReadOptions) -> Iterator[Any]:
    from pyarrow import parquet

    file = parquet.ParquetFile(stream)
    check_columns(file.schema_arrow.names, options)
    return file.iter_batches(_ROWS)  # type: ignore[no-any-return]


def _arrow(stream: BinaryIO, options: ReadOptions) -> Iterator[Any]:
    import pyarrow as pa

    file = pa.ipc.open_file(stream)
    check_columns(file.schema.names, options)
    for number in range(file.num_record_batches):
        batch = file.get_batch(number)
        for start in range(0, batch.num_rows, _ROWS):
            yield batch.slice(start, _ROWS)


def plain(value: Any) -> Any:
    """Convert a value to its JSON type: dates to text, decimals and array scalars to numbers."""
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value)
    return value.item() if hasattr(value, "item") and not hasattr(value, "__len__") else value
