"""The turns and sentences of documents, and so many of them around a hit."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from slice_os.hits.hit import Context, Hit
from slice_os.stores.candidates import StoredPassage
from slice_os.text.documents import Document, Extent
from slice_os.text.languages import language_of
from slice_os.text.passage_layout import (
    layout_of,
    passage_sentences,
    sentence_edges,
    turn_edges,
)
from slice_os.text.sentences import sentence_ends
from slice_os.text.wrapped_lines import unwrapped


@dataclass(frozen=True, slots=True)
class Turn(Extent):
    """A turn of a conversation: code points ``start:end`` of the document.

    Attributes:
        speaker: name or role; None if unknown.
        start_time: seconds from the beginning of the recording; None if unknown.
    """

    speaker: str | None = None
    start_time: float | None = None


def turns_of(passages: Iterable[StoredPassage]) -> list[Turn]:
    """The turns that the passages of a document are in, by position; none in other texts."""
    found: dict[int, Turn] = {}
    for passage in sorted(passages, key=lambda one: one.encoded.start):
        metadata = passage.encoded.metadata
        layout = layout_of(metadata, passage.encoded.start)
        for start, end in _pairs(layout.turns):
            own = layout.own_metadata(metadata, start, end)
            speaker, time = own.get("speaker"), own.get("start_time")
            named = None if speaker is None else str(speaker)
            seconds = float(time) if isinstance(time, (int, float)) else None
            found.setdefault(start, Turn(start, end, named, seconds))
    return [found[start] for start in sorted(found)]


def units_of(passages: Iterable[StoredPassage]) -> list[tuple[int, int]]:
    """Starts and ends of the turns that a document has or, in other texts, of its sentences."""
    turns: set[tuple[int, int]] = set()
    sentences: set[tuple[int, int]] = set()
    for passage in passages:
        start = passage.encoded.start
        layout = layout_of(passage.encoded.metadata, start)
        edges = layout.sentences or passage_sentences(passage.text, start)
        turns.update(_pairs(layout.turns))
        sentences.update(_pairs(edges))
    return sorted(turns or sentences)


def units_in(document: Document) -> list[tuple[int, int]]:
    """The same of a document that is not stored, read as it would be to store it."""
    if turns := turn_edges(document):
        return list(_pairs(turns))
    reading = unwrapped(document)
    inner = np.array(sentence_ends(reading.text, language_of(document)), dtype=np.int64)
    ends = reading.outer(inner, ends=True).tolist()
    return list(_pairs(sentence_edges(document.text, ends)))


def with_around(
    hit: Hit, text: str, units: Sequence[tuple[int, int]], before: int, after: int
) -> Hit:
    """The hit with so many units before and after its own as its context.

    Args:
        hit: of the text.
        text: of its document.
        units: starts and ends of turns or sentences, in order, without overlap.
        before: how many of them.
        after: how many of them.
    """
    first = bisect_right(units, hit.start, key=lambda unit: unit[1])
    last = bisect_left(units, hit.end, key=lambda unit: unit[0]) - 1
    shown = units[max(0, first - before) : max(first, last) + 1 + after]
    start = min([hit.start, *(unit[0] for unit in shown[:1])])
    end = max([hit.end, *(unit[1] for unit in shown[-1:])])
    return replace(hit, passage=Context(start, end, text[start:end]))


def _pairs(edges: Sequence[int]) -> Iterable[tuple[int, int]]:
    return zip(edges[::2], edges[1::2], strict=True)
