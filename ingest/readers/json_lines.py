"""JSON lines: an object per line, each a document."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import BinaryIO

import orjson

from slice_os.errors import InputError
from slice_os.ingest.readers.decoding import UTF8, check_line, open_text, read_line
from slice_os.ingest.readers.reader import BadRecord, ReadOptions, bad_record
from slice_os.ingest.readers.records import Record, documents_of
from slice_os.text.documents import Document


def read_jsonl(
    source: str, stream: BinaryIO, options: ReadOptions
) -> Iterator[Document | BadRecord]:
    """A document or bad record for every line that is not blank."""
    return documents_or_empty(source, _records(stream, options), options)


def documents_or_empty(
    source: str, records: Iterator[Record], options: ReadOptions
) -> Iterator[Document | BadRecord]:
    """What `documents_of` makes of records, or a bad record if there are none."""
    first = next(records, None)
    if first is None:
        yield bad_record(source, None, "empty", "")
        return
    yield from documents_of(source, chain([first], records), options)


def json_value(raw: bytes | str) -> object:
    """The value of a JSON text.

    Raises:
        InputError: if it is not valid.
    """
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise InputError(f"not valid JSON: {error.msg} at column {error.colno}") from None


def _records(stream: BinaryIO, options: ReadOptions) -> Iterator[Record]:
    with open_text(stream, options.encoding, newline="\n") as (text, encoding):
        number = 0
        while line := read_line(text):
            number += 1
            if line.isspace():
                continue
            try:
                raw = check_line(line, encoding).strip()
                yield Record(number, _object(raw), raw)
            except InputError as error:
                yield Record(number, error, line.strip().encode(UTF8, "surrogateescape"))


def _object(raw: bytes) -> dict[str, object]:
    value = json_value(raw)
    if not isinstance(value, dict):
        raise InputError(f"a JSON {type(value).__name__}; give an object on every line")
    return value
