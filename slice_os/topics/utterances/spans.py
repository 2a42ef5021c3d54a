"""The best span of a text for each phrase."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from slice_os.arrays import FloatArray, IntArray
from slice_os.encoder.alignment import AlignedText

MAX_WORDS = 20
# Sums over longer stretches would need more memory, and lose digits.
_BLOCK_WORDS = 1_024
_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class PhraseVectors:
    """Vectors of phrases by themselves.

    Attributes:
        columns: the row of each phrase.
        vectors: ``(n_phrases, dimension)``, of length 1.
    """

    columns: Mapping[str, int]
    vectors: FloatArray


@dataclass(frozen=True, slots=True)
class TextSpans:
    """The best span of a text for each phrase, and the whole text.

    Attributes:
        cosines: ``(n_phrases,)`` of the best span; -1 if the text has no word.
        first: ``(n_phrases,)`` first word of that span.
        words: ``(n_phrases,)`` number of words of that span.
        whole: ``(n_phrases,)`` cosines of the whole text; 0 if it has no word.
    """

    cosines: FloatArray
    first: IntArray
    words: npt.NDArray[np.uint8]
    whole: FloatArray


def text_spans(aligned: AlignedText, vectors: FloatArray, phrases: PhraseVectors) -> TextSpans:
    """Compare every span of up to 20 words, and the whole text, with every phrase.

    Of spans with the same cosine the shortest counts, and of these the first.

    Args:
        aligned: the text.
        vectors: ``(n_pieces, dimension)`` its token vectors.
        phrases: to compare it with.
    """
    words = aligned.words
    cosines = np.full(len(phrases.vectors), -1, dtype=np.float32)
    start = np.zeros(len(cosines), dtype=np.int64)
    length = np.ones(len(cosines), dtype=np.uint8)
    if not len(words):
        return TextSpans(cosines, start, length, np.zeros_like(cosines))
    for opening in range(0, len(words), _BLOCK_WORDS):
        block = words[opening : opening + _BLOCK_WORDS + MAX_WORDS - 1]
        found = _best(vectors, block, phrases.vectors)
        better = found[0] > cosines
        cosines[better] = found[0][better]
        start[better] = opening + found[1][better]
        length[better] = found[2][better]
    mean = vectors.mean(axis=0)
    whole = phrases.vectors @ (mean / max(float(np.linalg.norm(mean)), _TINY))
    return TextSpans(cosines, start, length, whole)


def _best(
    vectors: FloatArray, words: IntArray, phrases: FloatArray
) -> tuple[FloatArray, IntArray, npt.NDArray[np.uint8]]:
    """For each phrase the cosine of the best span, its first word and its number of words."""
    opening = words[0, 2]
    own = vectors[opening : words[-1, 3]]
    products, sums = _sums(own @ phrases.T), _sums(own)
    highest = np.full(len(phrases), -1, dtype=np.float32)
    starts = np.zeros(len(phrases), dtype=np.int64)
    lengths = np.ones(len(phrases), dtype=np.uint8)
    for length in range(1, min(len(words), MAX_WORDS) + 1):
        first = words[: len(words) - length + 1, 2] - opening
        last = words[length - 1 :, 3] - opening
        norms = np.linalg.norm(sums[last] - sums[first], axis=1, keepdims=True)
        cosines = (products[last] - products[first]) / np.maximum(norms, _TINY)
        places = cosines.argmax(axis=0)
        nearest = cosines[places, np.arange(len(phrases))]
        better = nearest > highest
        highest[better] = nearest[better]
        starts[better] = places[better]
        lengths[better] = length
    return highest, starts, lengths


def _sums(values: FloatArray) -> FloatArray:
    """Sums of the rows before each row, and of all."""
    sums = np.zeros((len(values) + 1, values.shape[1]), dtype=np.float32)
    values.cumsum(axis=0, out=sums[1:])
    return sums
