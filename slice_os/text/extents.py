"""Extents: stretches of a document, such as its sentences and turns."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Extent:
    """Code points ``start:end`` of a document."""

    start: int
    end: int

    def to_dict(self) -> dict[str, int]:
        """Both as plain JSON types."""
        return {"start": self.start, "end": self.end}


def edges_within(edges: Sequence[int], start: int, end: int) -> Sequence[int]:
    """The starts and ends, one after the other, of the extents that ``start:end`` touches."""
    first = bisect_right(edges, start)
    last = bisect_left(edges, end)
    return edges[first - first % 2 : last + last % 2]


def own_extent(edges: Sequence[int], start: int, end: int) -> Extent | None:
    """One extent of all those that ``start:end`` touches; None if it touches none."""
    touched = edges_within(edges, start, end)
    return Extent(touched[0], touched[-1]) if touched else None
