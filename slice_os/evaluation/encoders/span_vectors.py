"""Vectors of spans in their texts, and their cosines with phrases, for every kind of encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from slice_os.arrays import FloatArray
from slice_os.datasets.span_sets import Span
from slice_os.encoder.alignment import AlignedText
from slice_os.errors import InputError
from slice_os.evaluation.encoders.text_encoder import Representation, TextEncoder
from slice_os.spans.cosines import TINY, SpanLayout, span_cosines, span_norms
from slice_os.text.words import touched_words
from slice_os.threads import one_blas_thread


def cosines(left: FloatArray, right: FloatArray) -> npt.NDArray[np.float64]:
    """``(n,)`` cosines of the rows of two arrays, pair by pair; 0 if a row is zeros."""
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

    Returns ``(n_phrases, n_words, max_words)``, by first word and number of words less one;
    ``-inf`` for spans that would go beyond the text.
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
    representation: Representation, aligned: AlignedText, vectors: FloatArray, start: int, end: int
) -> FloatArray:
    """The ``(dimension,)`` vector of words that a span touches, as it is; `InputError` if none."""
    first, behind = touched_words(aligned.words, start, end)
    if first == behind:
        raise InputError(f"the phrase {aligned.text[start:end]!r} has no word to make a vector of")
    begins, ends = int(aligned.words[first, 2]), int(aligned.words[behind - 1, 3])
    if representation == "start-end":
        return np.concatenate([vectors[begins], vectors[ends - 1]])
    mean: FloatArray = vectors[begins:ends].mean(axis=0)
    return mean


def distinct_vectors(
    encode: Callable[[Sequence[str]], FloatArray], texts: Sequence[str]
) -> FloatArray:
    """``(n_texts, dimension)`` vectors of texts, each distinct one encoded once."""
    rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
    return encode(list(rows))[[rows[text] for text in texts]]


class InContext(str):
    """A phrase together with its context, for encoders that read both.

    As a string it contains both: for encoders that treat it as text, and as a key of caches.
    """

    __slots__ = ("context", "phrase")

    phrase: str
    context: str

    def __new__(cls, phrase: str, context: str) -> InContext:
        """See the class."""
        text = super().__new__(cls, f'"{phrase}" in: {context}')
        text.phrase, text.context = phrase, context
        return text


def phrases_in_context(
    encoder: TextEncoder, texts: Sequence[str], places: Sequence[Span]
) -> FloatArray:
    """``(n_texts, dimension)`` vectors of the phrase at a place of each text, not normalised.

    There is one pass for each different text. A phrase includes all the words that it touches; one
    without a word is an `InputError`. An encoder without token vectors reads each phrase as
    `InContext`, in a pass of its own.
    """
    if encoder.representation == "whole":
        pairs = zip(texts, places, strict=True)
        return encoder.phrases([InContext(text[slice(*place)], text) for text, place in pairs])
    rows: dict[str, list[int]] = {}
    for row, text in enumerate(texts):
        rows.setdefault(text, []).append(row)
    found = [np.empty(0, dtype=np.float32)] * len(texts)
    for aligned, vectors in encoder.tokens(list(rows)):
        for row in rows[aligned.text]:
            found[row] = span_vector(encoder.representation, aligned, vectors, *places[row])
    return np.array(found, dtype=np.float32)
