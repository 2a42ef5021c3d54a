"""Texts as numbers and as moments, for comparing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from math import isfinite
from typing import TypeAlias

Number: TypeAlias = int | float

# As JSON writes them, so that "007" and "1_000" stay text.
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_DATE = re.compile(
    r"""
    (?P<year>[0-9]{4}) (?: - (?P<month>[0-9]{2}) (?: - (?P<day>[0-9]{2})
        (?: [T ] (?P<hour>[0-9]{2}) : (?P<minute>[0-9]{2})
            (?: : (?P<second>[0-9]{2}) (?: [.,] (?P<fraction>[0-9]{1,9}) )? )?
            (?P<zone> Z | [+-][0-9]{2} (?: :? [0-9]{2} )? )?
        )?
    )? )?
    """,
    re.VERBOSE,
)
_FIELDS = {"year": 1, "month": 1, "day": 1, "hour": 0, "minute": 0, "second": 0}
_LENGTHS = {
    "day": timedelta(days=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
    "fraction": timedelta(milliseconds=1),
}
_END = datetime.max.replace(tzinfo=timezone.utc)
# Parsing takes time that is quadratic in the length of an integer.
_LONGEST_NUMBER = 400


@dataclass(frozen=True, slots=True)
class Interval:
    """A span of time: from ``start`` until just before ``end``, both in UTC."""

    start: datetime
    end: datetime


def parse_number(text: str) -> Number | None:
    """A text as a number; None if it is not one."""
    found = _NUMBER.fullmatch(text) if len(text) <= _LONGEST_NUMBER else None
    if found is None:
        return None
    if not found[1] and not found[2]:
        return int(text)
    number = float(text)
    return number if isfinite(number) else None


def parse_time_span(text: str) -> Interval | None:
    """The span of time that an ISO date, month, year or time stands for; None for any other text.

    Times without a zone are in UTC. Fractions of a second are cut to milliseconds.
    """
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    precision = [name for name in _FIELDS if found[name]][-1]
    year, month, day, hour, minute, second = (
        int(found[name] or least) for name, least in _FIELDS.items()
    )
    try:
        local = datetime(year, month, day, hour, minute, second)
        if found["fraction"]:
            local += timedelta(milliseconds=int(found["fraction"][:3].ljust(3, "0")))
        start = (local - _offset(found["zone"])).replace(tzinfo=timezone.utc)
    except (ValueError, OverflowError):
        return None
    return Interval(start, _end(start, "fraction" if found["fraction"] else precision))


def parse_date(text: str) -> datetime | None:
    """The begin of an ISO month, date or time; None for any other text.

    A year alone is a number.
    """
    if "-" not in text[4:5]:
        return None
    span = parse_time_span(text)
    return None if span is None else span.start


def text_within(text: str, span: Interval) -> bool:
    """Whether a value begins within a span of time."""
    moment = parse_date(text)
    return moment is not None and span.start <= moment < span.end


def _offset(zone: str | None) -> timedelta:
    if zone in (None, "Z"):
        return timedelta()
    digits = str(zone)[1:].replace(":", "").ljust(4, "0")
    offset = timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))
    return -offset if str(zone)[0] == "-" else offset


def _end(start: datetime, precision: str) -> datetime:
    try:
        if precision == "year":
            return start.replace(year=start.year + 1)
        if precision == "month":
            return (start + timedelta(days=31)).replace(day=1)
        return start + _LENGTHS[precision]
    except (ValueError, OverflowError):
        return _END
