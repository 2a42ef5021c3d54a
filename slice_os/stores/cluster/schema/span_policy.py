"""Span policies: which spans of a passage go into a vector index.

The index only proposes passages. Final scores are exact over all spans, whichever are indexed, so
a policy trades the recall of the proposals for space and time. The policy `all` follows the SLICE
paper exactly (section 3: every n-gram of min..max words).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from slice_os.arrays import FloatArray, IntArray, unit_rows
from slice_os.errors import InputError
from slice_os.spans.cosines import SpanLayout

COVER_SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 20)
FORMS = "all, grid:SIZE[,SIZE...] (such as grid:8) or cover:COSINE (such as cover:0.9)"


@dataclass(frozen=True, slots=True)
class SpanPolicy:
    """A way to choose spans.

    Attributes:
        kind: ``all``: every span; ``grid``: spans of given sizes at strides of half a size;
            ``cover``: greedily, the span with the most other spans within a given cosine, until
            every span of a set of sizes is that close to a selected one.
        sizes: for ``grid``, span sizes in words.
        cosine: for ``cover``, the least cosine that counts as close.
    """

    kind: Literal["all", "grid", "cover"]
    sizes: tuple[int, ...] = ()
    cosine: float = 0.0

    @classmethod
    def parse(cls, text: str) -> SpanPolicy:
        """Parse a policy: ``all``, ``grid:8``, ``grid:3,6,12``, ``cover:0.9``.

        Raises an `InputError` on anything else.
        """
        kind, _, argument = text.partition(":")
        try:
            if kind == "all" and not argument:
                return cls("all")
            if kind == "grid":
                sizes = tuple(sorted({int(size) for size in argument.split(",")}))
                if min(sizes) >= 1:
                    return cls("grid", sizes=sizes)
            if kind == "cover" and 0 < float(argument) < 1:
                return cls("cover", cosine=float(argument))
        except ValueError:
            pass
        raise InputError(f"no span policy {text!r}; there are {FORMS}")

    def __str__(self) -> str:
        if self.kind == "grid":
            return f"grid:{','.join(map(str, self.sizes))}"
        return f"cover:{self.cosine:g}" if self.kind == "cover" else "all"

    def select(self, vectors: FloatArray, layout: SpanLayout, max_words: int) -> IntArray:
        """The spans of a passage that this policy selects.

        Returns ``(n_spans, 2)`` rows of first word and one past the last, by position.
        """
        n_words = len(layout.first)
        if self.kind == "all":
            return _windows(n_words, range(1, max_words + 1), strides=False)
        if self.kind == "grid":
            return _windows(n_words, self.sizes, strides=True)
        spans = _windows(n_words, [size for size in COVER_SIZES if size <= max_words], False)
        return spans[_greedy_cover(span_vectors(vectors, layout, spans), self.cosine)]


def span_vectors(vectors: FloatArray, layout: SpanLayout, spans: IntArray) -> FloatArray:
    """Unit mean vectors of ``(n_spans, 2)`` spans: rows of first word and one past the last.

    The layout has the words over the ``(n_pieces, dimension)`` token vectors.
    """
    sums = np.zeros((len(vectors) + 1, vectors.shape[1]), dtype=np.float64)
    np.cumsum(vectors, axis=0, out=sums[1:])
    totals = sums[layout.last[spans[:, 1] - 1]] - sums[layout.first[spans[:, 0]]]
    return unit_rows(totals)


def _windows(n_words: int, sizes: range | list[int] | tuple[int, ...], strides: bool) -> IntArray:
    spans = set()
    for size in sizes:
        if size >= n_words:
            spans.add((0, n_words))
            continue
        stride = max(1, size // 2) if strides else 1
        starts = [*range(0, n_words - size, stride), n_words - size]
        spans.update((start, start + size) for start in starts)
    return np.array(sorted(spans), dtype=np.int64).reshape(-1, 2)


def _greedy_cover(units: FloatArray, cosine: float) -> IntArray:
    near = units @ units.T >= cosine
    left = near.sum(axis=1)
    covered = np.zeros(len(units), dtype=bool)
    chosen = []
    while not covered.all():
        best = int(np.where(covered, 0, left).argmax())
        fresh = near[best] & ~covered
        chosen.append(best)
        covered |= fresh
        left -= near[:, fresh].sum(axis=1)
    return np.array(sorted(chosen), dtype=np.int64)
