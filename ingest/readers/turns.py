"""Turns of a conversation as JSON has them, and times as people write them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from html import unescape
from typing import Any, NamedTuple

from slice_os.errors import InputError, kind_of
from slice_os.ingest.readers.dates import find_date
from slice_os.ingest.readers.paths import first_of, is_number, value_at, values_at
from slice_os.ingest.readers.reader import Turn, is_blank
from slice_os.query.filter_values import parse_date

_CLOCK = re.compile(r"(?:(\d{1,6}):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,9}))?", re.ASCII)

TURN_LISTS = ("turns", "messages")
_TEXTS = tuple(
    "text content.parts content.text content plain_body body_text body.content body message msg "  # noqa: SIM905
    "value".split()
)
TIMES = "start_time", "end_time"
"""Fields with the times of a turn."""
_LABELS = "speaker", "role", "author", "author_id", "user_id", "requester_id"
# With what chats have that people export from Slack, Facebook, Telegram, Discord, Google, Twilio.
_SPEAKERS = tuple(
    "speaker role author user_profile sender_name sender creator from.user from.application from "  # noqa: SIM905
    "username user name requester author_id user_id requester_id".split()
)
CHAT_TIMES = tuple(
    "ts timestamp_ms date_unixtime timestamp created_date created_at date_created create_time "  # noqa: SIM905
    "created_date_time".split()
)
"""Fields with the time of a message, if it is a date."""
_OWN_NAMES = "real_name", "nickname", "name", "display_name", "login", "role", "type"
_BLOCK = re.compile(
    r"</?(?:body|br|div|h[1-6r]|head|html|img|li|ol|p|pre|t[dhr]|table|ul)\b[^<>]*>", re.I
)
TAG = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style|title)\b.*?(?:</\1\s*>|\Z)|</?[a-z][^<>]*>", re.I | re.S
)

Json = Mapping[str, Any]


class Moment(NamedTuple):
    """Seconds of a recording, or since 1970; then with the date in ISO 8601."""

    seconds: float
    date: str | None = None


def turns_of(listed: Sequence[Any], formats: Mapping[str, str | None]) -> tuple[list[Turn], int]:
    """Read turns, each a string or an object; and count those without words beside others.

    The text of an object is ``text``, ``content`` or ``body``, its speaker ``speaker``, ``role`` or
    ``author``; ``start_time`` and ``end_time`` are seconds, clock times, or dates in these formats.

    Raises an `InputError` that names the turn by its number if one is no turn, if none has words,
    or if a field is of another type.
    """
    is_timed = any(isinstance(value, Mapping) and {*TIMES} & {*value} for value in listed)
    turns = [_turn(value, number, formats, is_timed) for number, value in enumerate(listed, 1)]
    empty = sum(turn is None or is_blank(turn.text) for turn in turns)
    if turns and all(turn is None for turn in turns):
        raise _wordless(1)
    said = [turn for turn in turns if turn is not None]
    times = [turn.start_time for turn in said if turn.start_time is not None]
    # Some programs write the last message first.
    if len(times) == len(said) and times[:1] > times[-1:] and times == sorted(times)[::-1]:
        said.reverse()
    return said, empty


def _turn(
    value: Any, number: int, formats: Mapping[str, str | None], is_timed: bool
) -> Turn | None:
    if isinstance(value, str):
        return Turn(value)
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise _wordless(number)
    texts = [*_texts(value)]
    if not texts:
        return None
    text = next((one for one in texts if not is_blank(one)), "")
    start, end = (
        None if time is None else moment(time, f"{field} of turn {number}", formats.get(field))
        for field in TIMES
        for time in [value.get(field)]
    )
    start = start if is_timed else _date(value)
    speaker = _speaker(value, number)
    return Turn(text, speaker, start and start.seconds, end and end.seconds, start and start.date)


def is_message(value: Any) -> bool:
    """Whether an object has words, and who said them or when."""
    names = _TEXTS, (*_SPEAKERS, *CHAT_TIMES)
    return isinstance(value, Mapping) and all(next(values_at([value], one), ()) for one in names)


def _speaker(turn: Json, number: int) -> str | None:
    for field, said in values_at([turn], _SPEAKERS):
        if isinstance(said, Mapping):
            said = first_of([said], _OWN_NAMES)
        if said not in (None, "") and (isinstance(said, str) or field in _LABELS):
            return label(said, f"speaker of turn {number}")
    return None


def _date(turn: Json) -> Moment | None:
    for field, value in values_at([turn], CHAT_TIMES):
        with suppress(InputError):
            if (found := find_moment(value, field)) and found.date:
                return found
    return None


def _wordless(number: int) -> InputError:
    return InputError(
        f"turn {number} has no text; give a string or an object with 'text' or 'content'"
    )


def from_beginning(turns: Sequence[Turn]) -> tuple[list[Turn], str | None]:
    """Count times that are dates in seconds from the first of them, which is returned, too.

    Raises an `InputError` if times are dates in some turns, and none in others.
    """
    timed = [turn for turn in turns if turn.start_time is not None]
    dated = [(turn.start_time or 0.0, turn.date) for turn in timed if turn.date]
    if not dated:
        return list(turns), None
    if len(dated) < len(timed):
        raise InputError("some times are dates, and some are seconds; give one of them")
    begins, date = min(dated, key=lambda one: one[0])

    def shifted(time: float | None) -> float | None:
        return None if time is None else round(time - begins, 3)

    return [
        turn._replace(start_time=shifted(turn.start_time), end_time=shifted(turn.end_time))
        for turn in turns
    ], date


def label(value: Any, where: str) -> str:
    """Return a string or an integer as text; refuse anything else."""
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise InputError(f"{where} is {kind_of(value)}; give a string or an integer")
    return str(value)


def clock_seconds(text: str) -> float | None:
    """The seconds of ``[HH:]MM:SS[.mmm]``; None if the text is something else."""
    found = _CLOCK.fullmatch(text.strip()[:40])
    if found is None:
        return None
    return clocked(*found.groups())


def clocked(hours: str | None, minutes: str, seconds: str, fraction: str | None) -> float:
    """The seconds of a clock time in its parts."""
    whole = int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds)
    return whole + (int(fraction) / 10 ** len(fraction) if fraction else 0.0)


def moment(value: Any, where: str, date_format: str | None = None) -> Moment:
    """Read a number of seconds, a clock time, or a date as `read_date` does.

    Raises an `InputError` if it is none of these; ``where`` is its name in the message.
    """
    found = find_moment(value, where, date_format)
    if found is None:
        shown = f"{value!r:.40}" if isinstance(value, str) else f"a {type(value).__name__}"
        wanted = f"a date in the format {date_format}" if date_format else "a date and time"
        raise InputError(f"{where} is {shown}; give seconds, HH:MM:SS or {wanted}")
    return found


def find_moment(value: Any, where: str, date_format: str | None = None) -> Moment | None:
    """As `moment`, but None if it is none of these; a date that could be two is refused."""
    clock = clock_seconds(value) if isinstance(value, str) else None
    if clock is not None:
        return Moment(clock)
    date = find_date(value, where, date_format)
    if date is not None and (begin := parse_date(date)) is not None:
        return Moment(begin.timestamp(), date)
    with suppress(ValueError, OverflowError):
        if (isinstance(value, str) or is_number(value)) and math.isfinite(seconds := float(value)):
            return Moment(seconds)
    return None


def _texts(turn: Json) -> Iterator[str]:
    """The texts of a turn by each of their names; a body in HTML without its tags."""
    for name, value in values_at([turn], _TEXTS):
        if (text := _text(value)) is not None:
            is_page = _BLOCK.match(text.lstrip()) and text.rstrip().endswith(">")
            is_page = is_page or value_at(turn, "body.content_type") == "html"
            yield _shown(text) if is_page and name.startswith("body") else text


def _shown(page: str) -> str:
    """The words of a page, a line for each block."""
    text = TAG.sub("", _BLOCK.sub("\n", " ".join(page.split())))
    lines = (" ".join(line.split()) for line in unescape(text).split("\n"))
    return "\n".join(filter(None, lines))


def _text(value: Any) -> str | None:
    """The text of a turn; the content of a message may be a list of parts, some of them text."""
    if isinstance(value, list):
        parts = [part.get("text") if isinstance(part, Mapping) else part for part in value]
        # Strings beside objects with text are one text with styles, as Telegram writes it.
        is_styled = {str, dict} <= set(map(type, value)) and None not in parts
        texts = (part for part in parts if part and isinstance(part, str))
        return ("" if is_styled else "\n").join(texts)
    return value if isinstance(value, str) else None
