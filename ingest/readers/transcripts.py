"""Transcripts of calls in the JSON of services that document its form.

Amazon Transcribe, its Call Analytics and Contact Lens, Genesys Cloud, and Whisper.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import Any

from slice_os.errors import InputError
from slice_os.ingest.readers.dates import find_date
from slice_os.ingest.readers.reader import Turn
from slice_os.ingest.readers.turns import from_beginning

Json = Mapping[str, Any]


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
