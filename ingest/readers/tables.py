"""CSV and tab-separated tables: a header row, then a document a row."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, TextIO

from slice_os.documents import Document
from slice_os.errors import InputError
from slice_os.ingest.readers.base import BadRecord, ReadOptions, bad_record, not_utf8
from slice_os.ingest.readers.fields import document_of, listing

# The longest cell, in characters; an unclosed quote swallows at most this much.
_LONGEST_CELL = 1 << 24


@dataclass(frozen=True, slots=True)
class _Row:
    """A row, the line it starts at and its bytes; an InputError if it is not valid CSV."""

    line: int
    raw: bytes
    cells: list[str] | InputError


def read_csv(source: str, stream: BinaryIO, options: ReadOptions) -> Iterator[Document | BadRecord]:
    """A document or bad record for every row that is not blank; cells are comma-separated."""
    return _read_table(source, stream, options, delimiter=",")


def read_tsv(source: str, stream: BinaryIO, options: ReadOptions) -> Iterator[Document | BadRecord]:
    """A document or bad record for every row that is not blank; cells are tab-separated."""
    return _read_table(source, stream, options, delimiter="\t")


def _read_table(
    source: str, stream: BinaryIO, options: ReadOptions, delimiter: str
) -> Iterator[Document | BadRecord]:
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))
    # Undecodable bytes pass as surrogates, so that one bad row does not stop the file.
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
    try:
        rows = _rows(text, delimiter)
        header = next(rows, None)
        if header is None:
            yield bad_record(source, None, "empty", "")
            return
        try:
            columns = _columns(header, options)
        except InputError as error:
            yield bad_record(source, header.line, str(error), header.raw)
            return
        for row in rows:
            try:
                fields = _fields(row, columns)
                yield document_of(fields, source, row.line, options)
            except InputError as error:
                yield bad_record(source, row.line, str(error), row.raw)
    finally:
        text.detach()  # the caller closes the stream


def _rows(text: TextIO, delimiter: str) -> Iterator[_Row]:
    taken: list[str] = []

    def lines() -> Iterator[str]:
        for line in text:
            taken.append(line)
            yield line

    reader = csv.reader(lines(), delimiter=delimiter, strict=True)
    while True:
        taken.clear()
        line = reader.line_num + 1
        cells: list[str] | InputError
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            cells = InputError(f"not valid CSV: {error}; check the quotes")
        raw = "".join(taken).encode("utf-8", "surrogateescape")
        if raw.strip():
            yield _Row(line, raw.rstrip(b"\r\n"), cells)


def _cells(row: _Row) -> list[str]:
    try:
        row.raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(not_utf8(error)) from None
    if isinstance(row.cells, InputError):
        raise row.cells
    return row.cells


def _columns(header: _Row, options: ReadOptions) -> list[str]:
    columns = _cells(header)
    if options.text_field not in columns:
        raise InputError(
            f"no column {options.text_field!r} in the header row; "
            f"the columns are {listing(columns)}"
        )
    if len(set(columns)) < len(columns):
        raise InputError(f"two columns share a name in the header row: {listing(columns)}")
    return columns


def _fields(row: _Row, columns: list[str]) -> dict[str, str]:
    """The cells by column; an empty cell means null and is left out."""
    cells = _cells(row)
    if len(cells) != len(columns):
        raise InputError(f"{len(cells)} cells, but the header has {len(columns)}")
    return {column: cell for column, cell in zip(columns, cells, strict=True) if cell}
