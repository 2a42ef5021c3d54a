"""Turns of a conversation as JSON has them, and times as people write them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from slice_os.errors import InputError
from slice_os.ingest.readers.reader import Turn

# A time after 1970 that is no time of a recording.
_EPOCH = 10**8
_CLOCK = re.compile(r"(?:(\d{1,6}):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,9}))?", re.ASCII)

TURN_LISTS = ("turns", "messages")
TEXT_NAMES = ("text", "content")
SPEAKER_NAMES = ("speaker", "role")


def turn_of(value: Any, number: int) -> Turn:
    """Read a turn: a string, or an object.

    Its text is ``text`` or ``content``, its speaker ``speaker`` or ``role``; ``start_time`` and
    ``end_time`` are seconds or clock times. Errors name its number.

    Raises an `InputError` if it has no text or a field of another type.
    """
    if isinstance(value, str):
        return Turn(value)
    text = _text(_first(value, TEXT_NAMES)) if isinstance(value, Mapping) else None
    if text is None:
        raise InputError(
            f"turn {number} has no text; give a string or an object with 'text' or 'content'"
        )
    speaker = _first(value, SPEAKER_NAMES)
    named = None if speaker is None else label(speaker, f"speaker of turn {number}")
    start, end = (_time(value, field, number) for field in ("start_time", "end_time"))
    return Turn(text, named, start, end)


def from_beginning(turns: Sequence[Turn]) -> list[Turn]:
    """Count times that are dates in seconds from the first of them; leave others unchanged."""
    begins = min((turn.start_time for turn in turns if turn.start_time is not None), default=0)
    if begins < _EPOCH:
        return list(turns)

    def shifted(time: float | None) -> float | None:
        return None if time is None else time - begins

    return [
        replace(turn, start_time=shifted(turn.start_time), end_time=shifted(turn.end_time))
        for turn in turns
    ]


def label(value: Any, where: str) -> str:
    """Return a string or an integer as text; refuse anything else."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise InputError(f"{where} is a {type(value).__name__}; give a string or an integer")
    return str(value)


def clock_seconds(text: str) -> float | None:
    """The seconds of ``[HH:]MM:SS[.mmm]``; None if the text is something else."""
    found = _CLOCK.fullmatch(text.strip()[:40])
    if found is None:
        return None
    hours, minutes, seconds, fraction = found.groups()
    whole = int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds)
    return whole + float(f"0.{fraction or 0}")


def moment(value: Any, where: str) -> float:
    """Convert a number, a clock time, or a date and time, which counts from 1970, to seconds.

    Raises an `InputError` if it is none of these; ``where`` is its name in the message.
    """
    if isinstance(value, datetime):
        return _since_1970(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str):
        clock = clock_seconds(value)
        if clock is not None:
            return clock
        for parse in (float, _date):
            with suppress(ValueError):
                return parse(value)
    shown = f"{value!r:.40}" if isinstance(value, str) else f"a {type(value).__name__}"
    raise InputError(f"{where} is {shown}; give seconds, HH:MM:SS or a date and time")


def _date(text: str) -> float:
    return _since_1970(datetime.fromisoformat(text.strip()[:40].replace("Z", "+00:00")))


def _since_1970(value: datetime) -> float:
    return (value if value.tzinfo else value.replace(tzinfo=timezone.utc)).timestamp()


def _first(turn: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((turn[name] for name in names if turn.get(name) is not None), None)


def _text(value: Any) -> str | None:
    """The text of a turn; the content of a message may be a list of parts, some of them text."""
    if isinstance(value, list):
        parts = (part.get("text") if isinstance(part, Mapping) else part for part in value)
        return "\n".join(part for part in parts if part and isinstance(part, str))
    return value if isinstance(value, str) else None


def _time(turn: Mapping[str, Any], field: str, number: int) -> float | None:
    value = turn.get(field)
    return None if value is None else moment(value, f"{field} of turn {number}")
