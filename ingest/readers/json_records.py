"""JSON: an object per line, a list of objects, or one object, such as a call's transcript."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import BinaryIO

import orjson

from slice_os.errors import InputError
from slice_os.ingest.readers.decoding import UTF8, check_line, open_text, read_line, read_text_file
from slice_os.ingest.readers.reader import BadRecord, DocumentStream, ReadOptions, bad_record
from slice_os.ingest.readers.records import Record, document_of, documents_of


def read_jsonl(source: str, stream: BinaryIO, options: ReadOptions) -> DocumentStream:
    """Yield a document or bad record for every line that is not blank."""
    records = _lines(stream, options)
    first = next(records, None)
    if first is None:
        yield bad_record(source, None, "empty", "")
        return
    yield from documents_of(source, chain([first], records), options)


def read_json(source: str, stream: BinaryIO, options: ReadOptions) -> DocumentStream:
    """Yield a document or bad record for every object of a list, or for the only object."""
    decoded = read_text_file(source, stream, options.encoding)
    if isinstance(decoded, BadRecord):
        yield decoded
        return
    text, _ = decoded
    try:
        value = _json_value(text.removeprefix("\ufeff"))
        if isinstance(value, Mapping):
            yield document_of(value, source, source, options)
            return
        if not isinstance(value, list):
            raise InputError(f"a JSON {type(value).__name__}; give an object or a list of objects")
    except (InputError, UnicodeEncodeError) as error:
        yield bad_record(source, None, str(error), text)
        return
    records = (
        Record(number, _object(item, "an object", f"item {number} is "), str(item))
        for number, item in enumerate(value, 1)
    )
    yield from documents_of(source, records, options)


def _lines(stream: BinaryIO, options: ReadOptions) -> Iterator[Record]:
    with open_text(stream, options.encoding, newline="\n") as (text, encoding):
        for number, line in enumerate(iter(lambda: read_line(text), ""), 1):
            if line.isspace():
                continue
            try:
                raw = check_line(line, encoding).strip()
                yield Record(number, _object(_json_value(raw), "an object on every line"), raw)
            except InputError as error:
                yield Record(number, error, line.strip().encode(UTF8, "surrogateescape"))


def _object(value: object, wanted: str, where: str = "") -> Mapping[str, object] | InputError:
    if isinstance(value, Mapping):
        return value
    return InputError(f"{where}a JSON {type(value).__name__}; give {wanted}")


def _json_value(raw: bytes | str) -> object:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise InputError(f"not valid JSON: {error.msg} at column {error.colno}") from None
