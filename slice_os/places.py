"""Where in a recording or document the words of a hit are.

A passage may join several cues, pages or sections. It keeps where each begins in one field of its
metadata, so that a hit has the times and the page of its own words, not those of the passage.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any

import orjson

from slice_os.documents import Metadata, Scalar, Segment

PLACES = "_places"
"""The field of a passage's metadata; hits do not have it."""


def passage_fields(segments: Sequence[Segment], start: int) -> dict[str, Scalar]:
    """What a passage knows of its segments: the speaker, the times, the fields of the first.

    Args:
        segments: those in the passage, in order, of one speaker.
        start: first code point of the passage.
    """
    if not segments:
        return {}
    found: dict[str, Scalar] = dict(segments[0].fields)
    if segments[0].speaker is not None:
        found["speaker"] = segments[0].speaker
    found |= _times([(one.start_time, one.end_time) for one in segments])
    places = [_packed(segment, start) for segment in segments]
    if any(place[1:] != places[0][1:] for place in places):
        found[PLACES] = orjson.dumps(places).decode()
    return found


def own_metadata(metadata: Metadata, passage_start: int, start: int, end: int) -> Metadata:
    """The metadata of the words ``start:end`` of a passage, from that of the passage.

    Args:
        metadata: of the passage.
        passage_start: first code point of the passage.
        start: first code point of the words, in the document.
        end: one past the last.
    """
    packed = metadata.get(PLACES)
    if packed is None:
        return metadata
    own = {name: value for name, value in metadata.items() if name != PLACES}
    try:
        places: list[list[Any]] = orjson.loads(str(packed))
        begins = [int(place[0]) + passage_start for place in places]
        touched = places[max(0, bisect_right(begins, start) - 1) : bisect_left(begins, end)]
        own.pop("start_time", None)
        own.pop("end_time", None)
        own |= _times([(place[1], place[2]) for place in touched])
        for place in places:
            for name in place[3] if len(place) > 3 else {}:
                own.pop(name, None)
        return own | (touched[0][3] if touched and len(touched[0]) > 3 else {})
    except (ValueError, TypeError, IndexError):
        return {name: value for name, value in metadata.items() if name != PLACES}


def _packed(segment: Segment, start: int) -> list[Any]:
    times = [segment.start_time, segment.end_time]
    fields = [dict(segment.fields)] if segment.fields else []
    return [max(0, segment.start - start), *times, *fields]


def _times(times: Sequence[tuple[float | None, float | None]]) -> dict[str, Scalar]:
    starts = [start for start, _ in times if start is not None]
    ends = [end for _, end in times if end is not None]
    return {
        **({"start_time": min(starts)} if starts else {}),
        **({"end_time": max(ends)} if ends else {}),
    }
