"""A text as it reads: lines of a sentence joined, with the way back to its own offsets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from slice_os.arrays import IntArray

_LINE_END = re.compile(r"[\r\n]")


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
