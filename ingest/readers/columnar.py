"""Parquet and Arrow files, and data frames in memory: a record a row, read in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from typing import IO, Any, BinaryIO

from slice_os.errors import InputError, MissingExtraError, imported, kind_of
from slice_os.ingest.readers.archives import seekable
from slice_os.ingest.readers.fields import NAME_TEXT, Record
from slice_os.ingest.readers.reader import (
    NO_MEMORY,
    BadRecord,
    DocumentStream,
    ReadNote,
    ReadOptions,
    bad_record,
)
from slice_os.ingest.readers.records import MADE, documents_of, named_by_content
from slice_os.ingest.readers.tables import check_columns
from slice_os.ingest.readers.turns import TURN_LISTS
from slice_os.text.documents import Document

_ROWS = 256
_FRAME_ROWS = 1_024
_NAME_COLUMN = "; name the one with the text by text="
_STREAMED = b"\xff" * 4


def as_documents(
    given: Iterable[Document] | Any, text: str | None, options: ReadOptions | None
) -> Iterable[Document]:
    """Return documents as given, or those of a frame's rows if columns are named.

    Args:
        given: documents; or a frame of pandas or polars, an Arrow table, a data set of Hugging
            Face, or any mappings, with a document a row.
        text: the column of the text; None for that of the options.
        options: further columns; None for documents, unless a text column is named.

    Raises an `InputError` on a frame without the name of a column.
    """
    if text is None and options is None:
        if _is_frame(given):
            raise InputError(
                f"{kind_of(given)} is not a list of documents; give text= for its column with the "
                "text"
            )
        return given
    options = options or ReadOptions()
    return frame_documents(given, replace(options, text_field=text or options.text_field))


def frame_documents(frame: Any, options: ReadOptions) -> Iterator[Document]:
    """The documents of a frame's rows, or of their groups.

    A row without an id gets one made of its content, so that frames added one after the other do
    not replace each other's rows; equal rows of a frame are numbered.

    Raises an `InputError` if a row is no mapping, cannot be used, or has the id of one before it.
    """
    seen: set[str] = set()
    records = _records(_frame_rows(frame))
    for found in named_by_content("frame", documents_of(MADE, records, options)):
        if isinstance(found, ReadNote):
            continue
        if isinstance(found, BadRecord):
            where = "" if found.line is None else f"row {found.line}: "
            raise InputError(f"{where}{found.reason.replace(NAME_TEXT, _NAME_COLUMN)}")
        if found.id in seen:
            raise InputError(
                f"two rows have the id {found.id!r}; give each its own, or group_by to join them"
            )
        seen.add(found.id)
        yield replace(found, source="", language=options.language)


def _is_frame(given: Any) -> bool:
    return any(
        hasattr(given, name) for name in ("iter_rows", "to_batches", "itertuples", "collect")
    )


def _frame_rows(frame: Any) -> Iterable[Mapping[str, Any]]:
    if hasattr(frame, "collect"):  # lazy, of polars
        raise InputError(f"{kind_of(frame)} has no rows yet; give what its collect() returns")
    if hasattr(frame, "iter_rows"):  # polars
        return frame.iter_rows(named=True)  # type: ignore[no-any-return]
    if hasattr(frame, "to_batches"):  # pyarrow
        return (row for batch in frame.to_batches(_FRAME_ROWS) for row in batch.to_pylist())
    if hasattr(frame, "itertuples"):  # pandas
        names = [str(name) for name in frame.columns]
        rows = frame.itertuples(index=False, name=None)
        return (dict(zip(names, row, strict=True)) for row in rows)
    return map(_row, frame)


def _row(given: object) -> Mapping[str, Any]:
    if not isinstance(given, Mapping):
        raise InputError(f"{kind_of(given)} is not a row; give a frame, or mappings by column")
    return given


def _cells(row: Mapping[str, Any]) -> dict[str, Any]:
    """The cells of a row that are not null, as JSON has them."""
    return {name: _plain(value) for name, value in row.items() if not _is_null(value)}


def _is_null(value: Any) -> bool:
    """Whether a value is None, or a missing number or date, which does not equal itself."""
    if value is None or hasattr(value, "__len__"):
        return value is None
    try:
        return bool(value != value)
    except TypeError:  # whether pandas' NA equals itself is NA, too
        return True


def _read(
    source: str,
    stream: BinaryIO,
    options: ReadOptions,
    *,
    batches: Callable[[IO[bytes], ReadOptions], Iterator[Any]],
) -> DocumentStream:
    try:
        pa = imported("pyarrow", "this format", "tables")
    except MissingExtraError as error:
        yield bad_record(source, None, str(error), "")
        return
    try:
        with seekable(stream) as content:
            records = _records(_batch_rows(batches(content, options)))
            yield from documents_of(source, records, options)
    except MemoryError:  # of the library, too
        yield bad_record(source, None, NO_MEMORY, "")
    except (InputError, pa.ArrowException, OSError, ValueError) as error:
        yield bad_record(source, None, str(error)[:300] or "damaged", "")


def _records(rows: Iterable[Mapping[str, Any]]) -> Iterator[Record]:
    return (Record(number, _cells(row)) for number, row in enumerate(rows, 1))


def _batch_rows(batches: Iterator[Any]) -> Iterator[Mapping[str, Any]]:
    for batch in batches:
        # Reading a damaged batch that was not checked ends the process.
        batch.validate(full=True)
        yield from batch.to_pylist()


def _parquet(stream: IO[bytes], options: ReadOptions) -> Iterator[Any]:
    from pyarrow import parquet

    # Else the library reads the whole file before the first row.
    file = parquet.ParquetFile(stream, pre_buffer=False)
    _check(file.schema_arrow.names, options)
    # Threads take more memory than the process may have that reads it.
    return file.iter_batches(_ROWS, use_threads=False)  # type: ignore[no-any-return]


def _arrow(stream: IO[bytes], options: ReadOptions) -> Iterator[Any]:
    import pyarrow as pa

    # Data sets of Hugging Face are written as streams.
    is_stream = stream.read(len(_STREAMED)) == _STREAMED
    stream.seek(0)
    file = pa.ipc.open_stream(stream) if is_stream else pa.ipc.open_file(stream)
    _check(file.schema.names, options)
    for batch in file if is_stream else map(file.get_batch, range(file.num_record_batches)):
        for start in range(0, batch.num_rows, _ROWS):
            yield batch.slice(start, _ROWS)


def _check(columns: list[str], options: ReadOptions) -> None:
    """Raise an InputError as `check_columns` does; a list of turns may be in place of the text."""
    found = {options.text_field, *TURN_LISTS}.intersection(columns) or {options.text_field}
    check_columns(columns, replace(options, text_field=min(found)))


def _plain(value: Any) -> Any:
    """Convert a value to its JSON type: dates and bytes to text, numbers, arrays to lists."""
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return float(value)
    with suppress(AttributeError, UnicodeError):  # some programs write text so
        return value.decode()
    return value.tolist() if hasattr(value, "tolist") else value  # also scalars of arrays


read_parquet = partial(_read, batches=_parquet)
read_arrow = partial(_read, batches=_arrow)
