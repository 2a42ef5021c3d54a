"""Turns of a conversation as JSON has them: strings, or objects with text, speaker and times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from slice_os.errors import InputError
from slice_os.ingest.readers.reader import Turn
from slice_os.ingest.readers.times import moment

# A time after 1970 that is no time of a recording.
_EPOCH = 10**8

TURN_LISTS = ("turns", "messages")
TEXT_NAMES = ("text", "content")
SPEAKER_NAMES = ("speaker", "role")


def turn_of(value: Any, number: int) -> Turn:
    """Read a turn: a string, or an object.

    Its text is ``text`` or ``content``, its speaker ``speaker`` or ``role``; ``start_time`` and
    ``end_time`` are seconds or clock times.

    Args:
        value: the turn.
        number: of the turn, from 1, for error messages.

    Raises:
        InputError: if it has no text or a field of another type.
    """
    if isinstance(value, str):
        return Turn(value)
    text = _text(_first(value, TEXT_NAMES)) if isinstance(value, Mapping) else None
    if text is None:
        raise InputError(
            f"turn {number} has no text; give a string or an object with 'text' or 'content'"
        )
    speaker = _first(value, SPEAKER_NAMES)
    return Turn(
        text=text,
        speaker=None if speaker is None else label(speaker, f"speaker of turn {number}"),
        start_time=_time(value, "start_time", number),
        end_time=_time(value, "end_time", number),
    )


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


def _first(turn: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((turn[name] for name in names if turn.get(name) is not None), None)


def _text(value: Any) -> str | None:
    """The text of a turn; the content of a message may be a list of parts, some of them text."""
    if isinstance(value, list):
        parts = (part if isinstance(part, str) else _part(part) for part in value)
        return "\n".join(part for part in parts if part)
    return value if isinstance(value, str) else None


def _part(part: Any) -> str | None:
    text = part.get("text") if isinstance(part, Mapping) else None
    return text if isinstance(text, str) else None


def _time(turn: Mapping[str, Any], field: str, number: int) -> float | None:
    value = turn.get(field)
    return None if value is None else moment(value, f"{field} of turn {number}")
