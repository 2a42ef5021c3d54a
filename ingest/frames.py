"""Documents of data frames: pandas, polars, Arrow tables, data sets of Hugging Face."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from slice_os.errors import InputError
from slice_os.ingest.readers import BadRecord, ReadOptions
from slice_os.ingest.readers.columnar import plain
from slice_os.ingest.readers.records import Record, documents_of
from slice_os.text.documents import Document

_UNNAMED = "frame"
_ROWS = 1_024


def as_documents(
    given: Iterable[Document] | Any, text: str | None, options: ReadOptions | None
) -> Iterable[Document]:
    """Return documents as given, or those of a frame's rows if columns are named.

    Args:
        given: documents; or a frame of pandas or polars, an Arrow table, a data set, or any
            mappings, with a document a row.
        text: the column of the text; None for that of the options.
        options: further columns; None for documents, unless a text column is named.
    """
    if text is None and options is None:
        return given
    options = options or ReadOptions()
    return frame_documents(given, replace(options, text_field=text or options.text_field))


def frame_documents(frame: Any, options: ReadOptions) -> Iterator[Document]:
    """The documents of a frame's rows, or of their groups.

    A row without an id gets one made of its content, so that frames added one after the other do
    not replace each other's rows.

    Raises:
        InputError: if a row cannot be used.
    """
    records = (
        Record(number, {name: plain(value) for name, value in row.items() if not _is_null(value)})
        for number, row in enumerate(_rows(frame), 1)
    )
    for found in documents_of("", records, options):
        if isinstance(found, BadRecord):
            raise InputError(f"row {found.line}: {found.reason}")
        if found.id.startswith("#"):
            found = replace(found, id=f"{_UNNAMED}#{found.fingerprint[:16]}")
        yield replace(found, language=options.language)


def _rows(frame: Any) -> Iterable[Mapping[str, Any]]:
    if hasattr(frame, "iter_rows"):  # polars
        return frame.iter_rows(named=True)  # type: ignore[no-any-return]
    if hasattr(frame, "to_batches"):  # pyarrow
        return (row for batch in frame.to_batches(_ROWS) for row in batch.to_pylist())
    if hasattr(frame, "itertuples"):  # pandas
        names = [str(name) for name in frame.columns]
        rows = frame.itertuples(index=False, name=None)
        return (dict(zip(names, row, strict=True)) for row in rows)
    return frame  # type: ignore[no-any-return]


def _is_null(value: Any) -> bool:
    """Whether a value is None, or a missing number or date, which does not equal itself."""
    return value is None or (not isinstance(value, (str, list, dict)) and bool(value != value))
