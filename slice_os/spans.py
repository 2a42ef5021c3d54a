"""Span mathematics: the cosine of a phrase with every span of every passage, exactly.

With token vectors t_1..t_n, prefix sums C and a unit phrase vector q, the cosine of q with the
mean of t_{i+1}..t_j is (q·C_j - q·C_i) / ‖C_j - C_i‖ (SLICE, section 3.1, mean pooling over
spans). The numerator needs one product per token, not one per span; the denominator does not
depend on the phrase.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from slice_os.words import IntArray

FloatArray = npt.NDArray[np.float32]

TINY = 1e-12


@dataclass(frozen=True, slots=True)
class SpanLayout:
    """The words of passages laid end to end over their word pieces.

    Attributes:
        first: ``(n_words,)`` first piece of each word.
        last: ``(n_words,)`` one past its last piece.
        room: ``(n_words,)`` words from this one to the end of its passage, itself included.
    """

    first: IntArray
    last: IntArray
    room: IntArray

    @classmethod
    def of_passage(cls, first: IntArray, last: IntArray) -> SpanLayout:
        """The layout of a single passage."""
        return cls(first=first, last=last, room=np.arange(len(first), 0, -1))


@dataclass(frozen=True, slots=True)
class ScoredSpan:
    """``words`` consecutive words from ``word`` on, and their cosine with the phrase."""

    word: int
    words: int
    cosine: float


def span_norms(vectors: FloatArray, layout: SpanLayout, max_words: int) -> FloatArray:
    """Lengths of the summed vectors of all spans: the denominators of the cosines.

    Memory grows with the square of the pieces, so this takes a passage at a time.

    Args:
        vectors: ``(n_pieces, dimension)``.
        layout: the words over these pieces.
        max_words: longest span.

    Returns:
        ``(n_words, max_words)``; column k holds spans of k + 1 words, 0 where the passage is
        too short for one.
    """
    # ‖C_j - C_i‖² is a block of the Gram matrix, whose two-dimensional prefix sums give every
    # span at once: far fewer operations than summing vectors span by span.
    blocks = np.zeros((len(vectors) + 1, len(vectors) + 1), dtype=np.float64)
    blocks[1:, 1:] = (vectors @ vectors.T).cumsum(axis=0, dtype=np.float64).cumsum(axis=1)
    diagonal = blocks.diagonal()
    ends = np.arange(len(layout.first))[:, None] + np.arange(max_words)
    last = layout.last[np.minimum(ends, len(layout.first) - 1)]
    first = layout.first[:, None]
    squares = diagonal[last] - 2 * blocks[first, last] + diagonal[first]
    fits = layout.room[:, None] > np.arange(max_words)
    return np.sqrt(np.where(fits, np.maximum(squares, 0), 0)).astype(np.float32)


def span_cosines(products: FloatArray, layout: SpanLayout, norms: FloatArray) -> FloatArray:
    """Cosines of one phrase with every span.

    Args:
        products: ``(n_pieces,)`` inner products of token vectors and the unit phrase vector.
        layout: the words over these pieces.
        norms: what `span_norms` gave for them.

    Returns:
        ``(n_words, max_words)``; column k holds spans of k + 1 words, ``-inf`` where the
        passage is too short for one.
    """
    sums = np.zeros(len(products) + 1, dtype=np.float64)
    np.cumsum(products, out=sums[1:])
    starts, ends = sums[layout.first], sums[layout.last]
    n_words, max_words = norms.shape
    cosines = np.full((n_words, max_words), -np.inf, dtype=np.float32)
    for extra in range(min(max_words, n_words)):
        count = n_words - extra
        column = (ends[extra:] - starts[:count]) / np.maximum(norms[:count, extra], TINY)
        fits = layout.room[:count] > extra
        cosines[:count, extra][fits] = np.clip(column[fits], -1.0, 1.0)
    return cosines


def select_spans(
    cosines: FloatArray, threshold: float = -1.0, limit: int | None = None, min_words: int = 1
) -> list[ScoredSpan]:
    """The best spans that do not overlap (greedy non-maximum suppression).

    Args:
        cosines: ``(n_words, max_words)`` from `span_cosines`, of one passage.
        threshold: least cosine of a span.
        limit: at most that many spans; None for all.
        min_words: shortest span.

    Returns:
        Spans by falling cosine; equal ones by position, then by length.
    """
    words, extras = np.nonzero(cosines[:, min_words - 1 :] >= threshold)
    extras = extras + min_words - 1
    values = cosines[words, extras]
    taken = np.zeros(len(cosines), dtype=bool)
    chosen: list[ScoredSpan] = []
    for index in np.lexsort((extras, words, -values)):
        if len(chosen) == limit:
            break
        word, end = int(words[index]), int(words[index] + extras[index]) + 1
        if not taken[word:end].any():
            taken[word:end] = True
            chosen.append(ScoredSpan(word, end - word, float(values[index])))
    return chosen
