"""JSON files: a list of objects, each a document, or one object, such as a call's transcript."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import BinaryIO

from slice_os.errors import InputError
from slice_os.ingest.readers.decoding import read_text_file
from slice_os.ingest.readers.fields import document_of
from slice_os.ingest.readers.json_lines import json_value
from slice_os.ingest.readers.reader import BadRecord, ReadOptions, bad_record
from slice_os.ingest.readers.records import Record, documents_of
from slice_os.text.documents import Document


def read_json(
    source: str, stream: BinaryIO, options: ReadOptions
) -> Iterator[Document | BadRecord]:
    """A document or bad record for every object of a list, or one for the only object."""
    decoded = read_text_file(source, stream, options.encoding)
    if isinstance(decoded, BadRecord):
        yield decoded
        return
    text, _ = decoded
    try:
        value = json_value(text.removeprefix("\ufeff"))
        if isinstance(value, Mapping):
            yield document_of(value, source, source, options)
            return
        if not isinstance(value, list):
            raise InputError(f"a JSON {type(value).__name__}; give an object or a list of objects")
    except (InputError, UnicodeEncodeError) as error:
        yield bad_record(source, None, str(error), text)
        return
    yield from documents_of(source, map(_record, range(1, len(value) + 1), value), options)


def _record(number: int, value: object) -> Record:
    if isinstance(value, Mapping):
        return Record(number, value, str(value))
    error = InputError(f"item {number} is a JSON {type(value).__name__}; give an object")
    return Record(number, error, str(value))
