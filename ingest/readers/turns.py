"""Turns of a conversation as JSON has them, and times as people write them.

The transcripts of Amazon Transcribe, its Call Analytics and Contact Lens, of Genesys Cloud, and of
Whisper are read in the form that these services document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, NamedTuple

from slice_os.errors import InputError, kind_of
from slice_os.ingest.readers.dates import find_date
from slice_os.ingest.readers.reader import Turn
from slice_os.query.filter_values import parse_date

_CLOCK = re.compile(r"(?:(\d{1,6}):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,9}))?", re.ASCII)

TURN_LISTS = ("turns", "messages")
TEXT_NAMES = ("text", "content")
SPEAKER_NAMES = ("speaker", "role")

Json = Mapping[str, Any]


class Moment(NamedTuple):
    """Seconds of a recording, or since 1970; then with the date in ISO 8601."""

    seconds: float
    date: str | None = None


def turn_of(value: Any, number: int, date_format: str | None = None) -> Turn:
    """Read a turn: a string, or an object.

    Its text is ``text`` or ``content``, its speaker ``speaker`` or ``role``; ``start_time`` and
    ``end_time`` are seconds, clock times or dates. Errors name its number.

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
    times = ((field, value.get(field)) for field in ("start_time", "end_time"))
    start, end = (
        None if time is None else moment(time, f"{field} of turn {number}", date_format)
        for field, time in times
    )
    return Turn(text, named, start and start.seconds, end and end.seconds, start and start.date)


def from_beginning(turns: Sequence[Turn]) -> tuple[list[Turn], str | None]:
    """Count times that are dates in seconds from the first of them, which is returned, too.

    Raises an `InputError` if times are dates in some turns, and none in others.
    """
    timed = [turn for turn in turns if turn.start_time is not None]
    first = min((turn for turn in timed if turn.date), key=_start, default=None)
    if first is None:
        return list(turns), None
    if not all(turn.date for turn in timed):
        raise InputError("some times are dates, and some are seconds; give one of them")
    begins = _start(first)

    def shifted(time: float | None) -> float | None:
        return None if time is None else round(time - begins, 3)

    return [
        replace(turn, start_time=shifted(turn.start_time), end_time=shifted(turn.end_time))
        for turn in turns
    ], first.date


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
    hours, minutes, seconds, fraction = found.groups()
    whole = int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds)
    return whole + float(f"0.{fraction or 0}")


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
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    try:
        return Moment(float(value))
    except ValueError:
        return None


def _start(turn: Turn) -> float:
    return turn.start_time or 0.0


def _first(turn: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((turn[name] for name in names if turn.get(name) is not None), None)


def _text(value: Any) -> str | None:
    """The text of a turn; the content of a message may be a list of parts, some of them text."""
    if isinstance(value, list):
        parts = (part.get("text") if isinstance(part, Mapping) else part for part in value)
        return "\n".join(part for part in parts if part and isinstance(part, str))
    return value if isinstance(value, str) else None


def transcript_turns(fields: Json) -> tuple[list[Turn], str | None]:
    """The turns of a transcript, by start, and its date; none if no service writes such an object.

    Raises an `InputError` if it begins like a transcript but goes on otherwise.
    """
    for applies, turns_in in _SERVICES:
        if applies(fields):
            try:
                turns = list(turns_in(fields))
            except (AttributeError, KeyError, TypeError, ValueError, IndexError):
                raise InputError("a transcript of a form that is not known") from None
            return from_beginning(sorted(turns, key=lambda turn: turn.start_time or 0))
    return [], None


def _contact_lens(call: Json) -> Iterator[Turn]:
    roles = {
        one["ParticipantId"]: one.get("ParticipantRole") for one in call.get("Participants", [])
    }
    for turn in call["Transcript"]:
        speaker = turn.get("ParticipantRole") or roles.get(turn.get("ParticipantId"))
        yield Turn(
            text=str(turn.get("Content") or ""),
            speaker=speaker or turn.get("ParticipantId"),
            start_time=_milliseconds(turn.get("BeginOffsetMillis")),
            end_time=_milliseconds(turn.get("EndOffsetMillis")),
        )


def _transcribe(job: Json) -> Iterator[Turn]:
    """The words of a job, joined as long as one speaker, or one channel, has them."""
    results = job["results"]
    speakers = {
        item["start_time"]: segment["speaker_label"]
        for segment in (results.get("speaker_labels") or {}).get("segments", [])
        for item in segment["items"]
    }
    words: list[tuple[str | None, Json]] = []
    channels = (results.get("channel_labels") or {}).get("channels", [])
    for channel in channels:
        words += ((channel["channel_label"], item) for item in channel["items"])
    speaker = None
    for item in [] if channels else results["items"]:
        # Punctuation has no time: it belongs to the word before.
        own = item.get("speaker_label") or speakers.get(item.get("start_time"))
        speaker = speaker if item["type"] == "punctuation" else own
        words.append((speaker, item))
    for said_by, items in groupby(words, key=lambda word: word[0]):
        yield from _sentences([item for _, item in items], said_by)


def _sentences(items: list[Json], speaker: str | None) -> Iterator[Turn]:
    """A speaker's words as turns that end with a sentence, each with its own times."""
    text = ""
    spoken: list[Json] = []
    for item in items:
        word = str(item["alternatives"][0]["content"])
        if item["type"] == "punctuation":
            text += word
        else:
            if text and text[-1] in ".?!":
                yield _spoken(text, speaker, spoken)
                text, spoken = "", []
            text += f" {word}" if text else word
            spoken.append(item)
    if text:
        yield _spoken(text, speaker, spoken)


def _spoken(text: str, speaker: str | None, items: list[Json]) -> Turn:
    start = float(items[0]["start_time"]) if items else None
    return Turn(text, speaker, start, float(items[-1]["end_time"]) if items else None)


def _genesys(call: Json) -> Iterator[Turn]:
    for transcript in call["transcripts"]:
        for phrase in transcript["phrases"]:
            begins = phrase.get("startTimeMs")
            start = _milliseconds(begins)
            lasts = _milliseconds((phrase.get("duration") or {}).get("milliseconds"))
            speaker = phrase.get("participantPurpose")
            roles = {"internal": "agent", "external": "customer"}
            yield Turn(
                text=str(phrase.get("text") or ""),
                speaker=roles.get(speaker, speaker),
                start_time=start,
                end_time=None if start is None or lasts is None else start + lasts,
                date=find_date(begins, "startTimeMs"),
            )


def _whisper(result: Json) -> Iterator[Turn]:
    for segment in result["segments"]:
        times = float(segment["start"]), float(segment["end"])
        yield Turn(str(segment["text"]).strip(), segment.get("speaker"), *times)


def _milliseconds(value: Any) -> float | None:
    return None if value is None else float(value) / 1000


def _objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, Mapping) for item in value)


_SERVICES: tuple[tuple[Callable[[Json], bool], Callable[[Json], Iterator[Turn]]], ...] = (
    (lambda it: _objects(it.get("Transcript")), _contact_lens),
    (lambda it: isinstance(it.get("results"), Mapping) and "items" in it["results"], _transcribe),
    (
        lambda it: (
            _objects(it.get("transcripts")) and all("phrases" in one for one in it["transcripts"])
        ),
        _genesys,
    ),
    (lambda it: _objects(it.get("segments")), _whisper),
)
