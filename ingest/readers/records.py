"""Lines of JSON and rows become documents: one each, or one for all turns of a call."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain, groupby, islice
from typing import Any, BinaryIO

import orjson

from slice_os.errors import InputError, kind_of
from slice_os.ingest.readers.dates import read_date
from slice_os.ingest.readers.decoding import UTF8, check_line, open_text, read_line, read_text_file
from slice_os.ingest.readers.reader import (
    BadRecord,
    DocumentStream,
    ReadNote,
    ReadOptions,
    Turn,
    bad_record,
    counted,
    is_blank,
    join_turns,
)
from slice_os.ingest.readers.turns import (
    TURN_LISTS,
    find_moment,
    from_beginning,
    label,
    moment,
    transcript_turns,
    turn_of,
)
from slice_os.query.filter_values import parse_date
from slice_os.text.documents import Document, Scalar, Segment

# The end of a message on a text that is not where it was looked for.
NAME_TEXT = "; name the one with the text by --text-field"
MADE = "\0"
"""A source whose documents' ids are told from those that records have; see `named_by_content`."""
_MADE_SHOWN = repr(MADE)[:-1]
_MOST_LISTED = 20
_DATE = "date"


@dataclass(frozen=True, slots=True)
class Record:
    """A line or row, counted from 1, with its fields, or why they cannot be read, and its text."""

    number: int
    fields: Mapping[str, Any] | InputError
    raw: bytes | str = ""


def documents_of(source: str, records: Iterable[Record], options: ReadOptions) -> DocumentStream:
    """Yield a document for every record or, with ``group_by``, for every group of them.

    Each record that cannot be used becomes a bad record. Groups come after the last record, in the
    order of their first; until then records wait in a temporary file, not in memory.
    """
    if options.group_by is not None:
        yield from _grouped(source, records, options)
        return
    for record in records:
        try:
            yield document_of(_fields(record), f"{source}#{record.number}", source, options)
        except InputError as error:
            yield _bad(source, record, error)


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
    fields: Mapping[str, Any], name: str, source: str, options: ReadOptions
) -> Document:
    """Make a document of a record; ``name`` is its id, unless the record has one.

    Its text is a string or a list of turns. A record without that field may have its turns in
    ``turns`` or ``messages``, or be a transcript that `transcript_turns` knows.

    Raises an `InputError` if a field is missing or has the wrong type.
    """
    used, text, segments, date = _text(fields, options)
    doc_id = _record_id(fields, options.id_field) or name
    metadata = _dated(date) | _metadata_of(fields, options, {options.id_field, used})
    return Document(doc_id, text, metadata, segments, source)


def listing(names: Iterable[str]) -> str:
    """The first 20 names, for a message."""
    names = list(names)
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return (", ".join(map(repr, islice(names, _MOST_LISTED))) or "none") + more


def _record_id(fields: Mapping[str, Any], field: str) -> str | None:
    value = fields.get(field)
    if value is None:
        return None
    if value == "":
        raise InputError(f"field {field!r} is empty; leave it out or give a document id")
    return label(value, f"field {field!r}")


def _metadata_of(
    fields: Mapping[str, Any], options: ReadOptions, skipped: set[str]
) -> dict[str, Scalar]:
    """The fields to keep as metadata: all plain values, or those that were chosen, and the date."""
    chosen = options.metadata_fields
    metadata: dict[str, Scalar] = {}
    field = options.date_field
    date = None if field is None else fields.get(field)
    skipped = skipped if field is None else skipped | {field, _DATE}
    for name in [name for name in fields if name not in skipped] if chosen is None else chosen:
        value = fields.get(name)
        if isinstance(value, (str, int, float)):
            metadata[name] = value
        elif value is not None and chosen is not None:
            raise InputError(
                f"metadata field {name!r} is {kind_of(value)}; give a string, number or boolean"
            )
    if date is not None and date != "":
        metadata[_DATE] = read_date(date, f"date field {field!r}", options.date_format)
    return metadata


def _dated(date: str | None) -> dict[str, Scalar]:
    return {} if date is None else {_DATE: date}


def _text(
    fields: Mapping[str, Any], options: ReadOptions
) -> tuple[str, str, tuple[Segment, ...], str | None]:
    """The name of the field with the text, the text, its turns and the date of the first."""
    field = options.text_field
    used, value = field, fields.get(field)
    if value is None:
        used = next((name for name in TURN_LISTS if isinstance(fields.get(name), list)), field)
        value = fields.get(used)
    segments: tuple[Segment, ...] = ()
    if value is None or isinstance(value, list):
        turns, date = (
            transcript_turns(fields)
            if value is None
            else from_beginning(
                [turn_of(turn, number, options.date_format) for number, turn in enumerate(value, 1)]
            )
        )
        text, segments = join_turns(turns)
    elif isinstance(value, str):
        text, date = value, None
    else:
        raise InputError(f"field {field!r} is {kind_of(value)}; give a string or a list of turns")
    if is_blank(text):
        told = _lacking(fields, field, "missing or empty")
        raise told if not fields or field in fields else InputError(f"{told}{NAME_TEXT}")
    return used, text, segments, date


def _lacking(fields: Mapping[str, Any], field: str, how: str) -> InputError:
    return InputError(f"field {field!r} is {how}; the record's fields are {listing(fields)}")


def _grouped(source: str, records: Iterable[Record], options: ReadOptions) -> DocumentStream:
    with closing(sqlite3.connect("")) as waiting:
        waiting.execute(
            "CREATE TABLE turns "
            "(number INTEGER PRIMARY KEY, call TEXT, place, turn BLOB, fields BLOB)"
        )
        empty = 0
        for record in records:
            try:
                row = _turn_row(record, options)
            except InputError as error:
                yield _bad(source, record, error)
            else:
                empty += row is None
                if row is not None:
                    waiting.execute("INSERT OR REPLACE INTO turns VALUES (?, ?, ?, ?, ?)", row)
        if empty:
            counts = {"empty turns": empty}
            yield ReadNote(source, None, counted(counts), "", counts)
        ordered = waiting.execute(
            "SELECT turns.call, turn, fields FROM turns JOIN "
            "(SELECT call, min(number) AS first FROM turns GROUP BY call) AS calls "
            "ON turns.call = calls.call ORDER BY first, place, number"
        )
        for call, rows in groupby(ordered, key=lambda row: row[0]):
            try:
                yield _conversation(source, call, [row[1:] for row in rows], options)
            except InputError as error:
                yield bad_record(source, None, str(error), call)


def _turn_row(record: Record, options: ReadOptions) -> tuple[int, str, Any, bytes, bytes] | None:
    """A row that keeps a turn until its call is complete; None if nothing was said."""
    fields = _fields(record)
    shared = str(options.group_by)
    call = _record_id(fields, shared)
    if call is None:
        raise _lacking(fields, shared, "missing or empty")
    text = fields.get(options.text_field, 0)
    if text is None or (isinstance(text, str) and is_blank(text)):
        return None
    if not isinstance(text, str):
        raise _lacking(fields, options.text_field, "missing or no text")
    speaker = fields.get(options.speaker_field or "")
    time = fields.get(options.time_field or "")
    used = {options.id_field, options.text_field, options.group_by, options.speaker_field}
    skipped = {name for name in (*used, options.time_field, options.order_by) if name}
    where = f"time field {options.time_field!r}"
    start = None if time is None else moment(time, where, options.date_format)
    named = None if speaker is None else label(speaker, f"speaker field {options.speaker_field!r}")
    turn = text, named, start and start.seconds, None, start and start.date
    metadata = _metadata_of(fields, options, skipped)
    place = _place(fields.get(options.order_by or ""), options)
    return record.number, call, place, _packed(turn), _packed(metadata)


def _conversation(
    source: str, call: str, rows: list[tuple[bytes, bytes]], options: ReadOptions
) -> Document:
    turns, date = from_beginning([Turn(*orjson.loads(turn)) for turn, _ in rows])
    text, segments = join_turns(turns)
    first, *others = each = [orjson.loads(fields) for _, fields in rows]
    shared = {
        name: value
        for name, value in first.items()
        if all(one.get(name) == value for one in others)
    }
    if options.date_field is not None:
        date = min((one[_DATE] for one in each if _DATE in one), key=_moment, default=date)
    return Document(call, text, _dated(date) | shared, segments, source)


def _moment(date: str) -> str:
    return str(parse_date(date))


def _place(value: Any, options: ReadOptions) -> float | str | None:
    """The order of a turn: times and numbers as such, anything else as text."""
    if value is None:
        return None
    found = find_moment(value, f"order field {options.order_by!r}", options.date_format)
    return str(value) if found is None else found.seconds


def _packed(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError as error:
        raise InputError(str(error)) from None


def _fields(record: Record) -> Mapping[str, Any]:
    if isinstance(record.fields, InputError):
        raise record.fields
    return record.fields


def _bad(source: str, record: Record, error: InputError) -> BadRecord:
    return bad_record(source, record.number, str(error), record.raw)


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
