"""The layout of a passage: its cues, pages, sections, sentences and turns.

A passage may join several cues, pages or sections. One field of its metadata holds the start of
each, so that a hit has the times and the page of its own words, not those of the passage. The field
also holds the sentences and turns that the passage has, whole or in part, and what its
reading leaves out.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from slice_os.arrays import IntArray
from slice_os.text.documents import ENGLISH, Document, Metadata, Scalar, Segment
from slice_os.text.sentences import sentence_ends

_LINE_END = re.compile(r"[\r\n]")

LAYOUT = "_places"
"""The field of a passage's metadata; hits do not have it."""

_SENTENCE_END = (".", "?", "!", "…", "。", "？", "！")
_CLOSING = "\"'”’»)]"


@dataclass(frozen=True, slots=True)
class Reading:
    """A text as it reads. An offset of the text as it is given is *outer* here, one in it *inner*.

    Attributes:
        text: the given text, with spaces for the ends of lines that go on, and without the cuts.
        cuts: outer starts and ends of what is left out, one after the other, in order.
    """

    text: str
    cuts: Sequence[int] = ()

    def inner(self, offsets: IntArray) -> IntArray:
        """Offsets in ``text``; one within a cut is where the cut was."""
        if not self.cuts:
            return offsets
        starts, ends, removed = self._cuts()
        before = np.searchsorted(starts, offsets, side="right")
        beyond = np.maximum(0, ends[before - 1] - offsets) * (before > 0)
        places: IntArray = offsets - removed[before] + beyond
        return places

    def outer(self, offsets: IntArray, *, ends: bool = False) -> IntArray:
        """Offsets in the given text: after a cut at that place or, for ``ends``, before it."""
        if not self.cuts:
            return offsets
        starts, _, removed = self._cuts()
        inner = starts - removed[:-1]
        before = np.searchsorted(inner, offsets, side="left" if ends else "right")
        places: IntArray = offsets + removed[before]
        return places

    def outer_extents(self, extents: IntArray) -> IntArray:
        """``(n, 2)`` starts and ends, in the given text."""
        first, last = extents.T
        return np.stack([self.outer(first), self.outer(last, ends=True)], axis=1)

    def _cuts(self) -> tuple[IntArray, IntArray, IntArray]:
        """Starts, ends, and the ``(n + 1,)`` code points that the cuts before each remove."""
        starts, ends = np.array(self.cuts, dtype=np.int64).reshape(-1, 2).T
        return starts, ends, np.concatenate([[0], np.cumsum(ends - starts)])


def reading_of(text: str, cuts: Sequence[int], joined: Iterable[tuple[int, int]]) -> Reading:
    """The reading of a text without its cuts, and with spaces for white space between lines.

    Args:
        text: as it is given.
        cuts: starts and ends, one after the other.
        joined: extents in which ends of lines are spaces, in order, without overlap.
    """
    if not cuts and not _LINE_END.search(text):
        return Reading(text)
    spaced, place = [], 0
    for start, end in joined:
        spaced += [text[place:start], _LINE_END.sub(" ", text[start:end])]
        place = end
    spaced.append(text[place:])
    whole = "".join(spaced)
    edges = [0, *cuts, len(text)]
    kept = (whole[edges[at] : edges[at + 1]] for at in range(0, len(edges), 2))
    return Reading("".join(kept), cuts)


@dataclass(frozen=True, slots=True)
class PassageLayout:
    """Cues, pages, sections, sentences and turns of a passage.

    Attributes:
        start: first code point of the passage in the document.
        segments: of several cues, pages or sections: start in the passage, times, fields.
        sentences: starts and ends of its sentences in the document, one after the other.
        turns: starts and ends of its turns; none if the text has no turns.
        cuts: starts and ends of what is left out to read it.
        language: of the document, an ISO 639 code.
    """

    start: int
    segments: Sequence[Sequence[Any]] = ()
    sentences: Sequence[int] = ()
    turns: Sequence[int] = ()
    cuts: Sequence[int] = ()
    language: str = ENGLISH

    def own_metadata(self, metadata: Metadata, start: int, end: int) -> Metadata:
        """The metadata of the words ``start:end`` of the document, from that of the passage."""
        begins = [place[0] + self.start for place in self.segments]
        touched = self.segments[max(0, bisect_right(begins, start) - 1) : bisect_left(begins, end)]
        told = {LAYOUT}.union(*(place[3] for place in self.segments))
        told |= {"start_time", "end_time"} if self.segments else set()
        own = {name: value for name, value in metadata.items() if name not in told}
        fields = touched[0][3] if touched else {}
        return own | _times([(place[1], place[2]) for place in touched]) | fields

    def turn_numbers(self, words: IntArray) -> IntArray | None:
        """The ``(n,)`` turns of words; names of speakers between turns have numbers of their own.

        Args:
            words: ``(n, ≥ 1)``, first the start of each word in the document.
        """
        return np.searchsorted(self.turns, words[:, 0], side="right") if self.turns else None

    def reading(self, text: str) -> Reading:
        """The text of the passage as it reads, with each of its sentences on one line."""
        edges = [min(max(edge - self.start, 0), len(text)) for edge in self.sentences]
        sentences = zip(edges[::2], edges[1::2], strict=False)
        return reading_of(text, [edge - self.start for edge in self.cuts], sentences)


def layout_of(metadata: Metadata, start: int) -> PassageLayout:
    """The layout in the metadata of a passage that begins at ``start``; empty if unreadable."""
    packed = metadata.get(LAYOUT)
    if packed is None:
        return PassageLayout(start)
    try:
        found = orjson.loads(str(packed))
        sentences, turns, cuts = (
            [int(edge) + start for edge in found.get(name, ())]
            for name in ("sentences", "turns", "cuts")
        )
        segments = [
            [int(place[0]), place[1], place[2], dict(*place[3:])]
            for place in found.get("segments", ())
        ]
        language = str(found.get("language", ENGLISH))
        return PassageLayout(start, segments, sentences, turns, cuts, language)
    except (ValueError, TypeError, IndexError, AttributeError, KeyError):
        return PassageLayout(start)


def layout_fields(
    segments: Sequence[Segment],
    start: int,
    sentences: Iterable[int],
    turns: Iterable[int],
    cuts: Iterable[int] = (),
    language: str = ENGLISH,
) -> dict[str, Scalar]:
    """Metadata of a passage: speaker, times, fields of its first segment, and its layout.

    The segments are of one speaker, in order; sentences, turns and cuts are starts and ends of
    those in the passage, whole or in part.
    """
    found: dict[str, Scalar] = dict(segments[0].fields) if segments else {}
    if segments and segments[0].speaker is not None:
        found["speaker"] = segments[0].speaker
    found |= _times([(one.start_time, one.end_time) for one in segments])
    marks: dict[str, Any] = {} if language == ENGLISH else {"language": language}
    packed = [_packed(segment, start) for segment in segments]
    if any(place[1:] != packed[0][1:] for place in packed):
        marks["segments"] = packed
    marks["sentences"] = [edge - start for edge in sentences]
    for name, own in (("turns", turns), ("cuts", cuts)):
        if edges := [edge - start for edge in own]:
            marks[name] = edges
    return found | {LAYOUT: orjson.dumps(marks).decode()}


def sentence_edges(text: str, ends: Iterable[int]) -> list[int]:
    """Starts and ends of sentences without the white space around them, one after the other.

    The ends are those of sentences and turns, increasing, the last of them the end of the text.
    """
    edges: list[int] = []
    start = 0
    for end in ends:
        sentence = text[start:end]
        if stripped := sentence.strip():
            first = start + len(sentence) - len(sentence.lstrip())
            edges += [first, first + len(stripped)]
        start = end
    return edges


def turn_edges(document: Document) -> list[int]:
    """Starts and ends of a document's turns, one after the other.

    A segment is a turn, unless it is a page or section, or the next cue of a recording: there one
    turn goes on in many cues. Without a speaker, a cue goes on until it ends a sentence.
    """
    edges: list[int] = []
    previous: Segment | None = None
    for segment in document.segments:
        if segment.fields or segment.start == segment.end:
            continue
        if previous is not None and _goes_on(document.text, previous, segment):
            edges[-1] = segment.end
        else:
            edges += [segment.start, segment.end]
        previous = segment
    return edges


def passage_sentences(text: str, start: int) -> list[int]:
    """Find the starts and ends of the sentences of a passage whose layout lacks them."""
    return [start + edge for edge in sentence_edges(text, sentence_ends(text))]


def _goes_on(text: str, former: Segment, segment: Segment) -> bool:
    if segment.end_time is None or former.end_time is None or segment.speaker != former.speaker:
        return False
    said = text[former.start : former.end].rstrip().rstrip(_CLOSING)
    return segment.speaker is not None or not said.endswith(_SENTENCE_END)


def _packed(segment: Segment, start: int) -> list[Any]:
    times = [segment.start_time, segment.end_time]
    fields = [dict(segment.fields)] if segment.fields else []
    return [max(0, segment.start - start), *times, *fields]


def _times(times: Sequence[tuple[float | None, float | None]]) -> dict[str, Scalar]:
    starts = [start for start, _ in times if start is not None]
    ends = [end for _, end in times if end is not None]
    found = {"start_time": min(starts, default=None), "end_time": max(ends, default=None)}
    return {name: time for name, time in found.items() if time is not None}
