r"""Transcripts of meetings that Teams saves as Word files.

A paragraph is a turn: ``Ann Lee   1:23\nWhat she says``, or in older files
``0:1:23.10 --> 0:1:25.0\nAnn Lee\nWhat she says``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from slice_os.ingest.readers.reader import Turn
from slice_os.ingest.readers.times import clock_seconds

_NAMED = re.compile(
    r"\s*(?P<speaker>[^\n]{1,80}?)[^\S\n]{2,}(?P<start>\d{1,3}(?::\d{1,2}){1,2})[^\S\n]*"
    r"(?:\n(?P<text>.*))?",
    re.DOTALL,
)
_TIMED = re.compile(
    r"\s*(?P<start>[\d:.]{5,16}) --> (?P<end>[\d:.]{5,16})[^\S\n]*\n(?P<speaker>[^\n]{1,80})"
    r"(?:\n(?P<text>.*))?",
    re.DOTALL,
)
_LEAST_TURNS = 2
_LEAST_SHARE = 0.4


def meeting_turns(paragraphs: Sequence[Turn]) -> Sequence[Turn]:
    """The turns of a meeting, with speakers and times; other texts as they are.

    Two fifths of the paragraphs need a speaker and a time, since what is said may be in the
    paragraphs after them. What comes before the first turn, such as a title, has no speaker.
    """
    written = [one for one in paragraphs if one.text.strip()]
    found = [_turn(one) for one in written]
    named = sum(turn is not None for turn in found)
    if named < _LEAST_TURNS or named < _LEAST_SHARE * len(written):
        return paragraphs
    return list(_continued(written, found))


def _continued(written: Sequence[Turn], found: Sequence[Turn | None]) -> Iterator[Turn]:
    """Every turn with the paragraphs that follow it."""
    current: Turn | None = None
    for paragraph, turn in zip(written, found, strict=True):
        if turn is not None:
            if current is not None:
                yield current
            current = turn
        elif current is None:
            yield paragraph
        else:
            current = replace(current, text=f"{current.text}\n{paragraph.text}".strip())
    if current is not None:
        yield current


def _turn(paragraph: Turn) -> Turn | None:
    match = _TIMED.fullmatch(paragraph.text) or _NAMED.fullmatch(paragraph.text)
    if match is None or (start := clock_seconds(match["start"])) is None:
        return None
    parts = match.groupdict()
    end = parts.get("end")
    return Turn(
        (parts["text"] or "").strip(),
        parts["speaker"].strip(),
        start,
        None if end is None else clock_seconds(end),
    )
