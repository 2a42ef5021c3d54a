"""A record and its fields: the id, the metadata, and the text or turns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from slice_os.errors import InputError, kind_of
from slice_os.ingest.readers.date_columns import DateFormats
from slice_os.ingest.readers.dates import read_date
from slice_os.ingest.readers.decoding import UTF8
from slice_os.ingest.readers.reader import BadRecord, ReadOptions, bad_record, is_blank, join_turns
from slice_os.ingest.readers.service_fields import names_in
from slice_os.ingest.readers.services import (
    EMPTY,
    UNREAD,
    shown_in,
    transcript,
    unread,
    words_of,
)
from slice_os.ingest.readers.turns import (
    CHAT_TIMES,
    TIMES,
    TURN_LISTS,
    from_beginning,
    label,
    turns_of,
)
from slice_os.text.documents import Scalar, Segment

# The end of a message on a text that is not where it was looked for.
NAME_TEXT = "; name the one with the text by --text-field"
DATE = "date"
"""The metadata field with the date of a document."""
_MOST_LISTED = 20
_MOST_TOLD = 8
_NESTED = dict, list, tuple
# What a service may have heard, too; the best of it is in the turns.
_GUESSED = "alternatives", "nBest", "NBest", "n_best"
_OTHERS = "values of other fields left out"
# A word by itself, or a letter of a script that does not part words: so no id, address or date.
_SAID = re.compile(r"(?:^|\s)[^\W\d_]+\W?\s|[\u2e80-\uffff]")


@dataclass(frozen=True, slots=True)
class Record:
    """A line or row, counted from 1, with its fields, or why they cannot be read, and its text.

    A file that is one record has no number, and one that was never written has no text. Bytes that
    cannot be read are lone surrogates. Of a record with such, ``known`` has the fields that can.
    """

    number: int | None
    fields: Mapping[str, Any] | InputError
    raw: str = ""
    known: Mapping[str, Any] = field(default_factory=dict)

    def read(self) -> Mapping[str, Any]:
        """The fields; raises the error of a record that cannot be read."""
        if isinstance(self.fields, InputError):
            raise self.fields
        return self.fields

    def text(self) -> bytes:
        """The text, or else the fields as Python writes them."""
        return (self.raw or str(self.fields)).encode(UTF8, "surrogateescape")

    def bad(self, source: str, error: InputError) -> BadRecord:
        """The record as one that cannot be used."""
        return bad_record(source, self.number, str(error), self.text())


def listing(names: Iterable[str]) -> str:
    """The first 20 names, for a message."""
    names = list(names)
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return (", ".join(map(repr, islice(names, _MOST_LISTED))) or "none") + more


def lacking(fields: Mapping[str, Any], name: str, how: str) -> InputError:
    """The error of a field that is missing, or otherwise lacks what it should have."""
    return InputError(f"field {name!r} is {how}; the record's fields are {listing(fields)}")


def id_of(fields: Mapping[str, Any], name: str) -> str | None:
    """The id in a field; None if there is none, an InputError if it is empty or no id."""
    value = fields.get(name)
    if value is None:
        return None
    if value == "":
        raise InputError(f"field {name!r} is empty; leave it out or give a document id")
    return label(value, f"field {name!r}")


def metadata_of(
    fields: Mapping[str, Any], options: ReadOptions, skipped: set[str]
) -> dict[str, Scalar]:
    """The fields to keep as metadata: all plain values, or those that were chosen; no date.

    Raises an `InputError` if a chosen one is no plain value.
    """
    chosen = options.metadata_fields
    metadata: dict[str, Scalar] = {}
    if options.date_field is not None:
        skipped = skipped | {options.date_field, DATE}
    for name in [name for name in fields if name not in skipped] if chosen is None else chosen:
        value = fields.get(name)
        if isinstance(value, (str, int, float)):
            metadata[name] = value
        elif value is not None and chosen is not None:
            raise InputError(
                f"metadata field {name!r} is {kind_of(value)}; give a string, number or boolean"
            )
    return metadata


def date_of(value: Any, options: ReadOptions, formats: DateFormats) -> dict[str, Scalar]:
    """The value of the date field as metadata; an InputError if it is no date, or could be two."""
    if options.date_field is None or value is None or value == "":
        return {}
    where = f"date field {options.date_field!r}"
    return {DATE: read_date(value, where, formats.of(options.date_field))}


def dates_in(fields: Mapping[str, Any], options: ReadOptions) -> dict[str, list[Any]]:
    """The dates of a record by their column: its own, and those of its turns."""
    names = options.date_field, options.time_field, options.order_by
    dates = {name: [fields.get(name)] for name in names if name is not None}
    timed = [turn for turn in _list_of_turns(fields, options)[1] or () if isinstance(turn, Mapping)]
    return dates | {name: [turn.get(name) for turn in timed] for name in TIMES if timed}


def _list_of_turns(fields: Mapping[str, Any], options: ReadOptions) -> tuple[str, list[Any] | None]:
    for name in (options.text_field, *TURN_LISTS):
        if isinstance(fields.get(name), list):
            return name, fields[name]
    return options.text_field, None


def _title(fields: Mapping[str, Any], options: ReadOptions) -> str:
    """The words before the text, with a blank line behind them; an InputError if they are none."""
    title = fields.get(options.title_field) if options.title_field is not None else None
    if title is None:
        return ""
    if not isinstance(title, str):
        raise InputError(f"title field {options.title_field!r} is {kind_of(title)}; give a string")
    return "" if is_blank(title) else f"{title}\n\n"


def text_of(
    fields: Mapping[str, Any], options: ReadOptions, formats: DateFormats, told: Counter[str]
) -> tuple[str, str, tuple[Segment, ...], str | None]:
    """The name of the field with the text, the text, its turns and the date of the first.

    Turns win over the whole text beside them. What is left out is counted in ``told``.

    Raises an `InputError` if there is no text, or turns that cannot be read.
    """
    field = options.text_field
    whole = fields.get(field)
    used, listed = _list_of_turns(fields, options)
    if isinstance(whole, list):
        whole = None
    elif whole is not None and not isinstance(whole, str):
        raise InputError(f"field {field!r} is {kind_of(whole)}; give a string or a list of turns")
    date, segments, others, guessed = None, tuple[Segment, ...](), fields, tuple[str, ...]()
    if listed is not None and whole is None:
        turns, empty = turns_of(listed, {name: formats.of(name) for name in TIMES})
        turns, date = from_beginning(turns)
        names = names_in(fields)
        turns = [one._replace(speaker=names.get(one.speaker or "", one.speaker)) for one in turns]
        told[EMPTY] += empty
        text, segments = join_turns(turns)
    else:
        found = transcript(fields, whole or "")
        used, date = field, found.date
        told.update(found.told)
        text, segments = join_turns(found.turns) if found.turns else (whole or "", ())
        if listed is not None and not found.turns and not any(found.told.values()):
            with suppress(InputError):  # other lists may have such a name
                told[UNREAD] += unread(turns_of(listed, {})[0], text)
                others = {name: fields[name] for name in fields if name not in TURN_LISTS}
        guessed = _GUESSED if found.turns else ()
    if title := _title(fields, options):
        shift = len(title)
        moved = (replace(one, start=one.start + shift, end=one.end + shift) for one in segments)
        text, segments = title + text, tuple(moved)
    if is_blank(text):
        error = lacking(fields, used, "missing or empty")
        raise error if not fields or used in fields else InputError(f"{error}{NAME_TEXT}")
    told.update(lost_in(others, text, {one.speaker for one in segments}, options, guessed))
    return used, text, segments, date


def lost_in(
    fields: Mapping[str, Any],
    text: str,
    speakers: Iterable[str | None],
    options: ReadOptions,
    skipped: Sequence[str] = (),
) -> Counter[str]:
    """Counts of texts in lists and objects with words that a document lacks, by their fields.

    There are none if fields were chosen, and none by names that are ``skipped``.
    """
    lost: Counter[str] = Counter()
    known: Set[str] | None = None
    for path, value in _texts_in(fields, skipped) if options.metadata_fields is None else ():
        if known is None:
            known = words_of(" ".join([text, *filter(None, speakers)])).keys()
        lost[f"values of {'.'.join(path)!r} left out"] += not shown_in(value).keys() <= known
    return lost


def tell(told: Counter[str], counts: Counter[str]) -> None:
    """Add what a record leaves out to what its file does, of which only so much has a name."""
    for kind, count in (+counts).items():
        told[kind if kind in told or len(told) < _MOST_TOLD else _OTHERS] += count


def _texts_in(
    fields: Mapping[str, Any], skipped: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """The texts in lists and objects, with the first two names of the way to each."""
    waiting: list[tuple[tuple[str, ...], Any]] = [
        ((name,), value) for name, value in fields.items() if isinstance(value, _NESTED)
    ]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [
                ((*path, str(name))[:2], one)
                for name, one in value.items()
                if isinstance(one, (str, *_NESTED)) and name not in (*TIMES, *CHAT_TIMES, *skipped)
            ]
        elif isinstance(value, _NESTED):
            waiting += [(path, one) for one in value if isinstance(one, _NESTED)]
            waiting.append((path, " ".join(one for one in value if isinstance(one, str)) + " "))
        elif _SAID.search(value):
            yield path, value
