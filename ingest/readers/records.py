"""Lines of JSON and rows become documents: one each, or one for all turns of a call."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from itertools import chain
from pathlib import PurePosixPath
from tempfile import TemporaryFile
from typing import Any, BinaryIO

import orjson

from slice_os.errors import InputError
from slice_os.ingest.readers.conversations import conversations
from slice_os.ingest.readers.date_columns import DateFormats
from slice_os.ingest.readers.decoding import UTF8, check_line, open_text, read_line, read_text_file
from slice_os.ingest.readers.exports import conversations_in, with_messages
from slice_os.ingest.readers.fields import (
    DATE,
    Record,
    date_of,
    dates_in,
    id_of,
    lost_in,
    metadata_of,
    tell,
    text_of,
)
from slice_os.ingest.readers.reader import (
    BOM,
    BadRecord,
    DocumentStream,
    ReadNote,
    ReadOptions,
    bad_record,
    notes_of,
    skipped,
)
from slice_os.ingest.readers.services import FIRST, field_of_turns
from slice_os.ingest.readers.turns import TURN_LISTS
from slice_os.text.documents import Document, Scalar

MADE = "\0"
"""A source whose documents' ids are told from those that records have; see `named_by_content`."""
_MADE_SHOWN = repr(MADE)[:-1]
# Lists of people and places in what Slack exports, with ids such as U061F7AUR.
_OF_SLACK = "users", "channels", "groups", "dms", "mpims", "integration_logs"
_SLACK_ID = re.compile("[A-Z][A-Z0-9]+")
# Facebook and Instagram write a letter for each byte of their messages.
_OF_FACEBOOK = '"timestamp_ms"'
_BYTES = re.compile(r"(?:\\u00[89a-f][0-9a-f])+")
_JSON_LINES = "this looks like JSON lines, and was read as such; name it .jsonl"


def documents_of(source: str, records: Iterable[Record], options: ReadOptions) -> DocumentStream:
    """Yield a document for every record or, with ``group_by``, for every group of them.

    Each record that cannot be used becomes a bad record. Groups come after the last record, in the
    order of their first; until then records wait in a temporary file, not in memory.
    """
    if options.group_by is not None:
        return conversations(source, records, options)
    return _each(source, records, options)


def _each(source: str, records: Iterable[Record], options: ReadOptions) -> DocumentStream:
    formats = DateFormats(options.date_format)
    told: Counter[str] = Counter()
    for record in _settled(records, options, formats):
        try:
            name = source if record.number is None else f"{source}#{record.number}"
            yield document_of(record.read(), name, source, options, formats, told)
        except InputError as error:
            yield record.bad(source, error)
    yield from formats.notes(source)
    yield from notes_of(source, told)


def _settled(
    records: Iterable[Record], options: ReadOptions, formats: DateFormats
) -> Iterator[Record]:
    """The records; from the first whose date could be two, they come after all were looked at.

    They wait in a temporary file, since any of them may show which date is meant.
    """
    records = iter(records)
    for record in records:
        if _unclear(record, options, formats):
            break
        yield record
    else:
        return
    with TemporaryFile() as waiting:
        waiting.write(_packed(record))
        for record in records:
            _unclear(record, options, formats)
            waiting.write(_packed(record))
        waiting.seek(0)
        yield from map(_unpacked, waiting)


def _unclear(record: Record, options: ReadOptions, formats: DateFormats) -> bool:
    if isinstance(record.fields, InputError):
        return False
    return formats.look(dates_in(record.fields, options), record.number)


def _packed(record: Record) -> bytes:
    """A record as a line of JSON, with surrogates; what is no JSON is an empty object."""
    bad = isinstance(record.fields, InputError)
    line = [record.number, record.raw, bad, str(record.fields) if bad else record.fields]
    return f"{json.dumps(line, default=lambda _: {})}\n".encode()


def _unpacked(line: bytes) -> Record:
    number, raw, bad, fields = json.loads(line)
    return Record(number, InputError(fields) if bad else fields, raw)


def named_by_content(name: str, found: DocumentStream) -> DocumentStream:
    """The records of the source `MADE`; the ids that it made become a name and their content.

    Documents with the same content are numbered, so that none replaces another.
    """
    copies: Counter[str] = Counter()
    for record in found:
        if isinstance(record, BadRecord):
            record = replace(record, reason=record.reason.replace(_MADE_SHOWN, f"'{name}"))
        elif record.id.startswith(MADE):
            content = f"{name}#{record.fingerprint[:16]}"
            copies[content] += 1
            number = f"-{copies[content]}" if copies[content] > 1 else ""
            record = replace(record, id=f"{content}{number}")
        yield record


def document_of(
    fields: Mapping[str, Any],
    name: str,
    source: str,
    options: ReadOptions,
    formats: DateFormats,
    told: Counter[str],
) -> Document:
    """Make a document of a record; ``name`` is its id, unless the record has one.

    Its text is a string or a list of turns. A record without that field may have its turns in
    ``turns`` or ``messages``, or be a transcript that `services` knows, or a conversation that
    `exports` knows. What is left out is counted in ``told``.

    Raises an `InputError` if a field is missing or has the wrong type.
    """
    left_out: Counter[str] = Counter()
    if FIRST.isdisjoint(fields) and options.text_field not in fields:
        fields = with_messages(fields)
    used, text, segments, date = text_of(fields, options, formats, left_out)
    doc_id = id_of(fields, options.id_field) or name
    metadata: dict[str, Scalar] = {} if date is None else {DATE: date}
    metadata |= metadata_of(fields, options, {options.id_field, used})
    metadata |= date_of(fields.get(options.date_field or ""), options, formats)
    document = Document(doc_id, text, metadata, segments, source)
    tell(told, left_out)
    return document


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
    if _OF_FACEBOOK in text:
        text = _BYTES.sub(_letters, text)
    try:
        value = _json_value(text.removeprefix(BOM))
    except InputError as error:
        if _is_json_lines(text):
            utf8 = replace(options, encoding=UTF8)
            yield from read_jsonl(source, BytesIO(text.encode(UTF8, "surrogatepass")), utf8)
            yield ReadNote(source, None, _JSON_LINES, "", {"files of JSON lines": 1})
        else:
            yield bad_record(source, None, str(error), text)
        return
    if PurePosixPath(source).stem in _OF_SLACK and _has_no_message(value, options):
        yield skipped(source, "a list of Slack's that has no messages", "list of Slack's")
        return
    if isinstance(value, list) and options.group_by is None and (field := field_of_turns(value)):
        value = {field: value}
    beside: Mapping[str, Any] = {}
    if isinstance(value, Mapping) and options.text_field not in value:
        many, beside = conversations_in(value)
        value = many or value
    if isinstance(value, list):
        records = (
            _record(number, item, "an object", f"item {number} is ")
            for number, item in enumerate(value, 1)
        )
        yield from documents_of(source, records, options)
        yield from notes_of(source, lost_in(beside, "", (), options))
    else:
        whole = _record(None, value, "an object or a list of objects", raw=text)
        yield from _each(source, [whole], options)


def _letters(found: re.Match[str]) -> str:
    with suppress(UnicodeError):
        return bytes.fromhex(found[0].replace(r"\u00", "")).decode()
    return found[0]


def _has_no_message(value: object, options: ReadOptions) -> bool:
    texts = options.text_field, *TURN_LISTS
    return isinstance(value, list) and all(
        isinstance(one, Mapping)
        and _SLACK_ID.fullmatch(str(one.get("id") or one.get("user_id")))
        and not any(name in one for name in texts)
        for one in value
    )


def _is_json_lines(text: str) -> bool:
    first = text.removeprefix(BOM).lstrip().partition("\n")[0]
    try:
        return isinstance(_json_value(first), Mapping)
    except InputError:
        return False


def _lines(stream: BinaryIO, options: ReadOptions) -> Iterator[Record]:
    with open_text(stream, options.encoding, newline="\n") as (text, encoding):
        for number, line in enumerate(iter(lambda: read_line(text), ""), 1):
            if line.isspace():
                continue
            try:
                value = _json_value(check_line(line, encoding).strip())
                yield _record(number, value, "an object on every line", raw=line.strip())
            except InputError as error:
                yield Record(number, error, line.strip())


def _record(
    number: int | None, value: object, wanted: str, where: str = "", raw: str = ""
) -> Record:
    if isinstance(value, Mapping):
        return Record(number, value, raw)
    told = f"{where}a JSON {type(value).__name__}; give {wanted}"
    return Record(number, InputError(told), raw or str(value))


def _json_value(raw: bytes | str) -> object:
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise InputError(f"not valid JSON: {error.msg} at column {error.colno}") from None
