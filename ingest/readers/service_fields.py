"""The text, speaker and times of a turn or word, by the names that services give them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from slice_os.ingest.readers.dates import find_date
from slice_os.ingest.readers.paths import first_of, is_number, items_at, value_at, values_at
from slice_os.ingest.readers.turns import Json, Moment, moment

# Names in ``snake_case``; services also write ``camelCase`` and ``PascalCase``.
_TEXT = tuple(
    "decorated_text text transcript content punctuated_word word value alternatives.0.content "  # noqa: SIM905
    "n_best.0.display display spoken_text body".split()
)
SPEAKER = tuple(
    "participant_role speaker_display_name speaker_name speaker speaker_label speaker_tag "  # noqa: SIM905
    "alternatives.0.speaker speaker_id participant_purpose users.0.username display_name "
    "participant_type participant_id role author".split()
)
_CHANNEL = "channel_label", "channel_tag", "media_channel", "channel"
START = tuple(
    "start start_time_ms start_time offset_in_ticks offset_milliseconds offset_in_ms start_offset "  # noqa: SIM905
    "begin_offset_millis ts timestamp.0 offsets.from offset absolute_time words.0.start_time "
    "words.0.start_offset".split()
)
_END = tuple(
    "end end_time end_offset end_offset_millis end_ts timestamp.1 offsets.to words.-1.end_time "  # noqa: SIM905
    "words.-1.end_offset result_end_time result_end_offset".split()
)
_LASTS = tuple(
    "duration_in_ticks duration_milliseconds duration_in_ms duration.milliseconds duration".split()  # noqa: SIM905
)
_MILLISECONDS = re.compile(r".*(?:_ms|milliseconds|millis)|offsets\..*")
MS = 1e-3
_TICK = 1e-7
_ROLES = {"internal": "agent", "external": "customer"}
_SECONDS = re.compile(r"(\d+(?:\.\d*)?)s", re.ASCII)
_ISO_LENGTH = re.compile(r"PT(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d*)?)S)?", re.ASCII)
_STOP = re.compile(r"[^\w\s([{<\"'“‘«¿¡$€£@#&+-]+")


class Said(NamedTuple):
    """A turn or word, with times in seconds, and whether it belongs to the word before."""

    text: str
    speaker: str | None
    channel: str | None
    start: Moment | None
    end: float | None
    stops: bool


def said_by(chain: list[Any], names: Mapping[str, str]) -> Said | None:
    """What an object behind those that it is in says; None if it has no text.

    Raises an `InputError` if a time is a text that is none.
    """
    near = [one for one in reversed(chain[1:]) if isinstance(one, Mapping)]
    start, end = time_of(near, START), time_of(near, _END)
    if end is None and start is not None and (lasts := time_of(near[:1], _LASTS)) is not None:
        end = Moment(start.seconds + lasts.seconds)
    texts = (value for _, value in values_at(near[:1], _TEXT) if isinstance(value, str))
    text = next(texts, None)
    if text is None:
        return None
    speaker = first_of(near, SPEAKER)
    stops = value_at(near[0], "type") in ("punctuation", "punct") or bool(_STOP.fullmatch(text))
    channel = first_of(near, _CHANNEL)
    named = names.get(speaker or "", speaker)
    return Said(text, named, channel, start, end and end.seconds, stops)


def names_in(record: Json) -> dict[str, str]:
    """Names or roles of speakers by the id that turns have."""
    named = dict(_ROLES)
    for path in ("participants.*", "speakers.*", "users.*", "requester", "assignee"):
        for *_, one in items_at(path.split("."), [record]):
            key = first_of([one], ("participant_id", "id"))
            name = first_of([one], ("participant_role", "name"))
            if key and name:
                named[key] = name
    return named


def time_of(objects: Sequence[Any], names: tuple[str, ...]) -> Moment | None:
    """The first time by one of the names, in the nearest object.

    Raises an `InputError` if it is a text that is no time.
    """
    for name, value in values_at(objects, names):
        if is_number(value):
            seconds = value * _unit(name)
            # No recording lasts for thirty years: it is a moment since 1970.
            return Moment(seconds, find_date(value, name) if seconds > 1e9 else None)
        if isinstance(value, Mapping):  # protocol buffers
            return Moment(float(value.get("seconds", 0)) + value.get("nanos", 0) * 1e-9)
        if isinstance(value, str) and value:
            return _written(value, name, _unit(name))
    return None


def _written(value: str, name: str, unit: float) -> Moment:
    if found := _SECONDS.fullmatch(value):
        return Moment(float(found[1]))
    if found := _ISO_LENGTH.fullmatch(value):
        hours, minutes, seconds = (float(part or 0) for part in found.groups())
        return Moment(hours * 3600 + minutes * 60 + seconds)
    found_moment = moment(value, name)
    return found_moment if unit == 1 else found_moment._replace(seconds=float(value) * unit)


def _unit(name: str) -> float:
    if name.endswith("_in_ticks"):
        return _TICK
    return MS if _MILLISECONDS.fullmatch(name) else 1.0
