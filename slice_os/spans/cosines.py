"""Span mathematics: the cosine of a phrase with every span of every passage, exactly.

With token vectors t_1..t_n, prefix sums C and a unit phrase vector q, the cosine of q with the
mean of t_{i+1}..t_j is (q·C_j - q·C_i) / ‖C_j - C_i‖ (SLICE, section 3.1, mean pooling over
spans). The numerator needs one product per token, not one per span; the denominator does not
depend on the phrase.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slice_os.arrays import FloatArray, IntArray

TINY = 1e-12
TRANSPOSED_AT_ONCE = 1_024


@dataclass(frozen=True, slots=True)
class SpanLayout:
    """The word pieces of each word, for one passage or several laid end to end.

    Attributes:
        first: ``(n_words,)`` first piece of each word.
        last: ``(n_words,)`` one past the last piece of each word.
        turn: ``(n_words,)`` number of each word's turn; None if no span has to stay in one.
    """

    first: IntArray
    last: IntArray
    turn: IntArray | None = None


@dataclass(frozen=True, slots=True)
class ScoredSpan:
    """A span and its cosine with a phrase.

    Attributes:
        word: the first of its words.
        words: number of them.
        cosine: with the phrase.
        behind: how far this cosine is below the passage's highest; 0 for the span that stands for
            the highest, see `slice_os.spans.choice`.
    """

    word: int
    words: int
    cosine: float
    behind: float = 0.0


def span_norms(vectors: FloatArray, layout: SpanLayout, max_words: int) -> FloatArray:
    """Lengths of the summed vectors of a passage's spans: the denominators of the cosines.

    Memory grows with the square of the number of words.

    Returns ``(n_words, max_words)``; row i, column k is the span of k + 1 words from word i: above
    0, 0 if the passage ends before the span does, infinite if it goes from one turn to another,
    so that its cosine is never the best.
    """
    # ‖C_j - C_i‖² is a block of the Gram matrix, whose two-dimensional prefix sums give every
    # span at once: far fewer operations than summing vectors span by span.
    edges = np.unique(np.concatenate([layout.first, layout.last]))
    stretches = np.add.reduceat(vectors[: edges[-1]], edges[:-1], axis=0)
    blocks = np.zeros((len(edges), len(edges)), dtype=np.float64)
    blocks[1:, 1:] = (stretches @ stretches.T).cumsum(axis=0, dtype=np.float64).cumsum(axis=1)
    diagonal = blocks.diagonal()
    n_words = len(layout.first)
    ends = np.arange(n_words)[:, None] + np.arange(max_words)
    last = np.searchsorted(edges, layout.last)[np.minimum(ends, n_words - 1)]
    first = np.searchsorted(edges, layout.first)[:, None]
    squares = diagonal[last] - 2 * blocks[first, last] + diagonal[first]
    norms = np.sqrt(np.maximum(squares, TINY**2))
    if layout.turn is not None:
        norms[layout.turn[np.minimum(ends, n_words - 1)] != layout.turn[:, None]] = np.inf
    return np.where(ends < n_words, norms, 0).astype(np.float32)


def span_cosines(products: FloatArray, layout: SpanLayout, norms: FloatArray) -> FloatArray:
    """Cosines of one phrase with every span.

    Args:
        products: ``(n_pieces,)`` inner products of token vectors and the unit phrase vector.
        layout: the words over these pieces.
        norms: the results of `span_norms` for the passages, one after the other.

    Returns an array like ``norms``; ``-inf`` if the passage or the turn ends before the span does.
    """
    sums = np.zeros(len(products) + 1, dtype=np.float64)
    np.cumsum(products, out=sums[1:])
    padded = np.concatenate([sums[layout.last], np.zeros(norms.shape[1] - 1)])
    ends = np.ndarray(norms.shape, padded.dtype, padded, strides=2 * padded.strides)
    cosines = np.empty(norms.shape, dtype=np.float32)
    np.subtract(ends, sums[layout.first][:, None], out=cosines, casting="same_kind")
    with np.errstate(divide="ignore", invalid="ignore"):
        np.divide(cosines, norms, out=cosines)
    np.minimum(np.maximum(cosines, -1, out=cosines), 1, out=cosines)
    np.copyto(cosines, -np.inf, where=(norms == 0) | np.isinf(norms))
    return cosines


def inverse_norms(norms: FloatArray) -> FloatArray:
    """``(max_words, n_words)``: one over the ``(n_words, max_words)`` norms of `span_norms`.

    It is infinite where a passage ends before the span does, 0 where a turn does.
    """
    inverse = np.empty(norms.shape[::-1], dtype=np.float32)
    for start in range(0, len(norms), TRANSPOSED_AT_ONCE):
        block = slice(start, start + TRANSPOSED_AT_ONCE)
        inverse[:, block] = norms[block].T
    with np.errstate(divide="ignore"):
        return np.divide(1, inverse, out=inverse)


def word_sums(
    products: FloatArray, layout: SpanLayout, starts: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Sums of products over each word, and what each word adds to a span that ends before it.

    Args:
        products: ``(n_pieces, n_phrases)`` products of token vectors and phrases.
        layout: the words over these pieces, in order, none without a piece.
        starts: the first word of each passage.

    Returns twice ``(n_phrases, n_words)``. The second counts the pieces between the words, too; it
    is ``-inf`` for the first word of a passage, which no span enters from the passage before.
    """
    sums = np.ascontiguousarray(_run_sums(products, layout.first, layout.last).T)
    growth = sums.copy()
    gaps = np.flatnonzero(layout.first[1:] > layout.last[:-1])
    between = _run_sums(products, layout.last[gaps], layout.first[gaps + 1])
    growth[:, gaps + 1] += between.T
    growth[:, starts] = -np.inf
    return sums, growth


def best_by_word(
    sums: FloatArray, growth: FloatArray, inverse: FloatArray, min_words: int
) -> FloatArray:
    """The best cosine of one phrase with the spans that begin at each word.

    Args:
        sums: ``(n_words,)`` from `word_sums`; overwritten.
        growth: ``(n_words,)`` likewise.
        inverse: ``(max_words, n_words)`` from `inverse_norms`.
        min_words: words in the shortest span.

    Returns ``(n_words,)``, not clipped; ``-inf`` if the passage ends before the shortest span does.
    """
    best = np.full(len(sums), -np.inf, dtype=np.float32)
    cosines = np.empty_like(best)
    for extra in range(min(len(inverse), len(sums))):
        spans = sums[: len(sums) - extra]
        if extra:
            spans += growth[extra:]
        if extra + 1 >= min_words:
            kept = slice(len(spans))
            np.multiply(spans, inverse[extra, kept], out=cosines[kept])
            np.maximum(best[kept], cosines[kept], out=best[kept])
    return best


def _run_sums(rows: FloatArray, first: IntArray, last: IntArray) -> FloatArray:
    """``(n_runs, columns)`` sums over runs of rows, none of them empty."""
    # Most runs are one row long. A pass over the rest for each further row is many times as fast
    # as np.add.reduceat, which works column by column.
    sums = rows.take(last - 1, axis=0)
    longer, back = np.flatnonzero(last - first > 1), 1
    while len(longer):
        back += 1
        sums[longer] += rows.take(last[longer] - back, axis=0)
        longer = longer[last[longer] - first[longer] > back]
    return sums
