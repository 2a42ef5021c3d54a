"""Records of a table or list become documents: one each, or one for all turns of a call."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import orjson

from slice_os.errors import InputError
from slice_os.ingest.readers.fields import document_of, listing, metadata_of, record_id
from slice_os.ingest.readers.reader import (
    BadRecord,
    DocumentStream,
    ReadOptions,
    Turn,
    bad_record,
    is_blank,
    join_turns,
)
from slice_os.ingest.readers.times import moment
from slice_os.ingest.readers.turns import from_beginning, label
from slice_os.text.documents import Document


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a file.

    Attributes:
        number: its line or row, from 1.
        fields: by name; an InputError if it cannot be read.
        raw: its text in the file.
    """

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


def _grouped(source: str, records: Iterable[Record], options: ReadOptions) -> DocumentStream:
    with closing(sqlite3.connect("")) as waiting:
        waiting.execute(
            "CREATE TABLE turns "
            "(number INTEGER PRIMARY KEY, call TEXT, place, turn BLOB, fields BLOB)"
        )
        for record in records:
            try:
                row = _turn_row(record, options)
            except InputError as error:
                yield _bad(source, record, error)
            else:
                waiting.execute("INSERT OR REPLACE INTO turns VALUES (?, ?, ?, ?, ?)", row)
        ordered = waiting.execute(
            "SELECT turns.call, turn, fields FROM turns JOIN "
            "(SELECT call, min(number) AS first FROM turns GROUP BY call) AS calls "
            "ON turns.call = calls.call ORDER BY first, place, number"
        )
        for call, rows in groupby(ordered, key=lambda row: row[0]):
            try:
                yield _conversation(source, call, [row[1:] for row in rows])
            except InputError as error:
                yield bad_record(source, None, str(error), call)


def _turn_row(record: Record, options: ReadOptions) -> tuple[int, str, Any, bytes, bytes]:
    """A row that keeps a turn until its call is complete."""
    fields = _fields(record)
    call = record_id(fields, str(options.group_by))
    if call is None:
        raise InputError(
            f"field {options.group_by!r} is missing or empty; "
            f"the record's fields are {listing(fields)}"
        )
    text = fields.get(options.text_field)
    if not isinstance(text, str) or is_blank(text):
        raise InputError(
            f"field {options.text_field!r} is missing, empty or no text; "
            f"the record's fields are {listing(fields)}"
        )
    speaker = fields.get(options.speaker_field or "")
    time = fields.get(options.time_field or "")
    used = {options.id_field, options.text_field, options.group_by, options.speaker_field}
    skipped = {name for name in (*used, options.time_field, options.order_by) if name}
    turn = (
        text,
        None if speaker is None else label(speaker, f"speaker field {options.speaker_field!r}"),
        None if time is None else moment(time, f"time field {options.time_field!r}"),
    )
    metadata = metadata_of(fields, options, skipped)
    place = _place(fields.get(options.order_by or ""))
    return record.number, call, place, _packed(turn), _packed(metadata)


def _conversation(source: str, call: str, rows: list[tuple[bytes, bytes]]) -> Document:
    turns = from_beginning([Turn(*orjson.loads(turn)) for turn, _ in rows])
    text, segments = join_turns(turns)
    return Document(call, text, _shared(orjson.loads(row) for _, row in rows), segments, source)


def _shared(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The fields with the same value in all rows of a call."""
    rows = iter(rows)
    shared = dict(next(rows))
    for row in rows:
        shared = {name: value for name, value in shared.items() if row.get(name) == value}
    return shared


def _place(value: Any) -> float | str | None:
    """The order of a turn: times and numbers as such, anything else as text."""
    if value is None:
        return None
    try:
        return moment(value, "order")
    except InputError:
        return str(value)


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
