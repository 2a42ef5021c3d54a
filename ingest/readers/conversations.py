"""Rows that are turns become conversations, each whole or not at all."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from itertools import groupby
from typing import Any, NamedTuple

import orjson

from slice_os.errors import InputError
from slice_os.ingest.readers.date_columns import DateFormats
from slice_os.ingest.readers.decoding import UTF8
from slice_os.ingest.readers.fields import (
    DATE,
    Record,
    date_of,
    dates_in,
    id_of,
    lacking,
    lost_in,
    metadata_of,
    tell,
)
from slice_os.ingest.readers.reader import (
    BadRecord,
    DocumentStream,
    ReadOptions,
    Turn,
    bad_record,
    is_blank,
    join_turns,
    notes_of,
)
from slice_os.ingest.readers.services import EMPTY
from slice_os.ingest.readers.turns import find_moment, from_beginning, label, moment
from slice_os.query.filter_values import parse_date
from slice_os.text.documents import Document, Scalar


class _Row(NamedTuple):
    """A row with its turn and date as given, since only all rows show what dates mean."""

    text: str
    speaker: str | None
    time: Any
    place: Any
    date: Any
    metadata: Mapping[str, Scalar]


def conversations(source: str, records: Iterable[Record], options: ReadOptions) -> DocumentStream:
    """Yield a document for all rows of a call, in the order of the calls' first rows.

    A row that cannot be used becomes a bad record, and then its whole call does, too. Rows wait in
    a temporary file until the last was read. Rows without words are counted.
    """
    formats = DateFormats(options.date_format)
    told: Counter[str] = Counter()
    with closing(sqlite3.connect("")) as waiting:
        waiting.execute("CREATE TABLE turns (number INTEGER, call BLOB, raw BLOB, turn BLOB)")
        for record in records:
            known = record.known if isinstance(record.fields, InputError) else record.fields
            call = packed = None
            try:
                call = id_of(known, str(options.group_by))
                row = _row(record.read(), call, options)
                packed = None if row is None else _packed(row)
            except InputError as error:
                yield record.bad(source, error)
            else:
                if row is None:
                    told[EMPTY] += 1
                    continue
                tell(told, lost_in(record.read(), row.text, [row.speaker], options))
                formats.look(dates_in(record.read(), options), record.number)
            if call is not None:
                # An id in a row that is not valid may have lone surrogates.
                name = call.encode(UTF8, "surrogatepass")
                values = record.number, name, record.text(), packed
                waiting.execute("INSERT INTO turns VALUES (?, ?, ?, ?)", values)
        yield from notes_of(source, told)
        yield from formats.notes(source)
        ordered = waiting.execute(
            "SELECT call, number, raw, turn FROM turns "
            "ORDER BY min(rowid) OVER (PARTITION BY call), rowid"
        )
        told.clear()
        for call, rows in groupby(ordered, key=lambda row: row[0]):
            name = call.decode(UTF8, "surrogatepass")
            own = [row[1:] for row in rows]
            yield from _conversation(source, name, own, options, formats, told)
        yield from notes_of(source, told)


def _row(fields: Mapping[str, Any], call: str | None, options: ReadOptions) -> _Row | None:
    """The turn in a row; None if nothing was said."""
    if call is None:
        raise lacking(fields, str(options.group_by), "missing or empty")
    text = fields.get(options.text_field, 0)
    if text is None or (isinstance(text, str) and is_blank(text)):
        return None
    if not isinstance(text, str):
        raise lacking(fields, options.text_field, "missing or no text")
    columns = options.speaker_field, options.time_field, options.order_by, options.date_field
    speaker, time, place, date = (None if name is None else fields.get(name) for name in columns)
    named = None if speaker is None else label(speaker, f"speaker field {options.speaker_field!r}")
    used = options.id_field, options.text_field, options.group_by, *columns[:3]
    skipped = {name for name in used if name is not None}
    return _Row(text, named, time, place, date, metadata_of(fields, options, skipped))


def _conversation(
    source: str,
    call: str,
    rows: list[tuple[int, bytes, bytes | None]],
    options: ReadOptions,
    formats: DateFormats,
    told: Counter[str],
) -> Iterator[Document | BadRecord]:
    bad = [f"row {number} cannot be used" for number, _, turn in rows if turn is None]
    placed: list[tuple[tuple[int, Any], Turn, Mapping[str, Scalar]]] = []
    for number, raw, turn in rows:
        if turn is None:
            continue
        try:
            row = _Row(*orjson.loads(turn))
            own = {**row.metadata, **date_of(row.date, options, formats)}
            spoken = _turn(row, options, formats)
            placed.append((_place(row.place, options, formats), spoken, own))
        except InputError as error:
            yield bad_record(source, number, str(error), raw)
            bad.append(f"row {number} cannot be used: {error}")
    try:
        if bad:
            raise InputError(bad[0])
        placed.sort(key=lambda one: one[0])
        turns, date = from_beginning([turn for _, turn, _ in placed])
        text, segments = join_turns(turns)
        each = [own for *_, own in placed]
        metadata = _metadata(each, date, options)
        yield Document(call, text, metadata, segments, source)
        names = dict.fromkeys(name for own in each for name in own if name not in metadata)
        differ = {name: [own.get(name) for own in each] for name in names}
        tell(told, lost_in(differ, text, [turn.speaker for turn in turns], options))
    except InputError as error:
        said = "\n".join(turn.text for _, turn, _ in placed)
        of = f"conversation {call!r} is left out, with its {len(rows):,} rows"
        yield bad_record(source, None, f"{of}: {error}", said)


def _turn(row: _Row, options: ReadOptions, formats: DateFormats) -> Turn:
    where, known = f"time field {options.time_field!r}", formats.of(options.time_field)
    start = None if row.time is None else moment(row.time, where, known)
    return Turn(row.text, row.speaker, start and start.seconds, None, start and start.date)


def _place(value: Any, options: ReadOptions, formats: DateFormats) -> tuple[int, Any]:
    """The order of a turn: none, then times and numbers as such, then anything else as text."""
    if value is None:
        return 0, 0
    where = f"order field {options.order_by!r}"
    found = find_moment(value, where, formats.of(options.order_by))
    return (2, str(value)) if found is None else (1, found.seconds)


def _metadata(
    each: list[Mapping[str, Scalar]], date: str | None, options: ReadOptions
) -> dict[str, Scalar]:
    """The fields that all rows share, and the first date."""
    first, *others = each
    if options.date_field is not None:
        dates = (str(one[DATE]) for one in each if DATE in one)
        date = min(dates, key=lambda one: str(parse_date(one)), default=date)
    metadata: dict[str, Scalar] = {} if date is None else {DATE: date}
    return metadata | {
        name: value
        for name, value in first.items()
        if all(one.get(name) == value for one in others)
    }


def _packed(row: _Row) -> bytes:
    try:
        return orjson.dumps(tuple(row))
    except TypeError as error:
        raise InputError(str(error)) from None
