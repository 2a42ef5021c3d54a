"""Vectors of spans in their text, and their cosines with phrases, whatever the encoder."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from slice_os.arrays import FloatArray
from slice_os.encoder.alignment import AlignedText
from slice_os.evaluation.encoders.base import Representation
from slice_os.spans.cosines import TINY, SpanLayout, span_cosines, span_norms
from slice_os.threads import one_blas_thread


def cosines(left: FloatArray, right: FloatArray) -> npt.NDArray[np.float64]:
    """Cosines of the rows of two arrays, pair by pair; 0 if a row is zeros.

    Args:
        left: ``(n, dimension)``.
        right: ``(n, dimension)``.

    Returns:
        ``(n,)`` float64.
    """
    first, second = left.astype(np.float64), right.astype(np.float64)
    lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    products = np.einsum("nd,nd->n", first, second)
    values: npt.NDArray[np.float64] = products / np.maximum(lengths, TINY)
    return values


@one_blas_thread()
def all_span_cosines(
    representation: Representation,
    aligned: AlignedText,
    vectors: FloatArray,
    phrases: FloatArray,
    max_words: int,
) -> FloatArray:
    """Cosines of phrases with every span of a text, by products per token instead of per span.

    Args:
        representation: of the encoder that gave the vectors.
        aligned: the text.
        vectors: ``(n_pieces, token_dimension)``.
        phrases: ``(n_phrases, dimension)`` from `TextEncoder.phrases`.
        max_words: longest span.

    Returns:
        ``(n_phrases, n_words, max_words)``, by first word and number of words less one; ``-inf``
        for spans that would go beyond the text.
    """
    words = aligned.words
    if not len(words):
        return np.empty((len(phrases), 0, max_words), dtype=np.float32)
    units = phrases / np.maximum(np.linalg.norm(phrases, axis=1, keepdims=True), TINY)
    if representation == "start-end":
        return _start_end_cosines(vectors[words[:, 2]], vectors[words[:, 3] - 1], units, max_words)
    layout = SpanLayout(words[:, 2], words[:, 3])
    norms = span_norms(vectors, layout, max_words)
    products = vectors @ units.T.astype(np.float32)
    return np.stack([span_cosines(column, layout, norms) for column in products.T])


def _start_end_cosines(
    starts: FloatArray, ends: FloatArray, units: FloatArray, max_words: int
) -> FloatArray:
    """The same for spans made of their first and last token, side by side.

    DensePhrases (Lee et al. 2021, section 3); here, as in SLICE (section 5), one encoder makes
    both phrases and spans.
    """
    half = starts.shape[1]
    from_starts, from_ends = starts @ units[:, :half].T, ends @ units[:, half:].T
    squares_first, squares_last = (starts**2).sum(axis=1), (ends**2).sum(axis=1)

    def reach(values: FloatArray) -> FloatArray:
        """Row w: the values at words w, w + 1, …; nan after the last one."""
        padding = np.full((max_words - 1, *values.shape[1:]), np.nan, dtype=values.dtype)
        return sliding_window_view(np.concatenate([values, padding]), max_words, axis=0)

    lengths = np.sqrt(squares_first[:, None] + reach(squares_last))
    products = from_starts[:, :, None] + reach(from_ends)
    values = np.moveaxis(products, 1, 0) / np.maximum(lengths, TINY)
    return np.where(np.isnan(values), -np.inf, np.clip(values, -1, 1)).astype(np.float32)


def span_vector(
    representation: Representation, aligned: AlignedText, vectors: FloatArray, first: int, end: int
) -> FloatArray:
    """The vector of the words ``first:end`` of a text, not normalised.

    Returns:
        ``(dimension,)``.
    """
    begins, ends = int(aligned.words[first, 2]), int(aligned.words[end - 1, 3])
    if representation == "start-end":
        return np.concatenate([vectors[begins], vectors[ends - 1]])
    mean: FloatArray = vectors[begins:ends].mean(axis=0)
    return mean


def locate_words(aligned: AlignedText, start: int, end: int) -> tuple[int, int] | None:
    """The words that the characters ``start:end`` touch, half-open; None if they touch none."""
    first = int(np.searchsorted(aligned.words[:, 1], start, side="right"))
    last = int(np.searchsorted(aligned.words[:, 0], end, side="left"))
    return (first, last) if last > first else None
