"""JSON lines: an object per line, each a document."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import BinaryIO

import orjson

from slice_os.documents import Document
from slice_os.errors import InputError
from slice_os.ingest.readers.base import BadRecord, ReadOptions, bad_record, not_utf8
from slice_os.ingest.readers.fields import document_of


def read_jsonl(
    source: str, stream: BinaryIO, options: ReadOptions
) -> Iterator[Document | BadRecord]:
    """A document or bad record for every line that is not blank."""
    empty = True
    for number, line in enumerate(stream, 1):
        raw = (line.removeprefix(codecs.BOM_UTF8) if number == 1 else line).strip()
        if not raw:
            continue
        empty = False
        try:
            yield document_of(_object(raw), source, number, options)
        except InputError as error:
            yield bad_record(source, number, str(error), raw)
    if empty:
        yield bad_record(source, None, "empty", "")


def _object(raw: bytes) -> dict[str, object]:
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise InputError(_why_not_json(raw, error)) from None
    if not isinstance(value, dict):
        raise InputError(f"a JSON {type(value).__name__}; give an object on every line")
    return value


def _why_not_json(raw: bytes, error: orjson.JSONDecodeError) -> str:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as undecodable:
        return not_utf8(undecodable)
    return f"not valid JSON: {error.msg} at column {error.colno}"
