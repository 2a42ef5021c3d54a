"""What a mark of a hit in a copy of its file says, and in which colour."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from slice_os.hits.hit import Hit
from slice_os.text.documents import Extent, Segment

AUTHOR = "SLICE-OS"

# Light enough to read black words through; a group of hits has one of its own, in turn.
_COLOURS = (
    (255, 224, 102),
    (150, 230, 170),
    (160, 205, 255),
    (255, 180, 195),
    (215, 185, 255),
    (255, 200, 140),
)


@dataclass(frozen=True, slots=True)
class Mark:
    """A hit in a document.

    Attributes:
        doc_id: of the document.
        extent: code points of its text.
        text: the words there.
        note: the phrase and what speaks for and against the hit.
        colour: red, green and blue, from 0 to 255.
    """

    doc_id: str
    extent: Extent
    text: str
    note: str
    colour: tuple[int, int, int]

    def overlaps(self, segment: Segment) -> bool:
        """Whether it has a character of a segment."""
        return self.extent.start < segment.end and segment.start < self.extent.end


def marks_of(hits: Iterable[Hit]) -> Iterator[Mark]:
    """A mark for each hit; hits of one topic or phrase have one colour."""
    groups: dict[str, int] = {}
    for hit in hits:
        group = groups.setdefault(hit.group, len(groups))
        colour = _COLOURS[group % len(_COLOURS)]
        yield Mark(hit.doc_id, Extent(hit.start, hit.end), hit.text, _note(hit), colour)


def _note(hit: Hit) -> str:
    likely = f"probability {hit.probability:.2f}, {hit.band}" if hit.band else ""
    lines = [hit.topic, f"“{hit.phrase}”", likely or f"cosine {hit.cosine:.2f}", *hit.reasons]
    return "\n".join(line for line in lines if line)
