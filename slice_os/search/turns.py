"""The turns of a stored conversation, with their speakers and times."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from slice_os.stores.candidates import StoredPassage
from slice_os.text.documents import Extent
from slice_os.text.passage_layout import layout_of


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
        for start, end in zip(layout.turns[::2], layout.turns[1::2], strict=True):
            own = layout.own_metadata(metadata, start, end)
            speaker, time = own.get("speaker"), own.get("start_time")
            named = None if speaker is None else str(speaker)
            seconds = float(time) if isinstance(time, (int, float)) else None
            found.setdefault(start, Turn(start, end, named, seconds))
    return [found[start] for start in sorted(found)]
