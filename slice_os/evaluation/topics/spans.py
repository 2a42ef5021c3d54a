"""The best span of each document for each phrase."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from slice_os.arrays import FloatArray, IntArray
from slice_os.evaluation.encoders.base import TextEncoder
from slice_os.evaluation.harness import Progress, track
from slice_os.threads import one_blas_thread

MAX_WORDS = 20
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
class BestSpans:
    """The best spans of documents.

    Attributes:
        phrases: what they were found for, a column each.
        cosines: ``(n_documents, n_phrases)``.
        words: ``(n_documents, n_phrases)`` number of words of the span.
        whole: ``(n_documents, n_phrases)`` cosines of the whole documents.
    """

    phrases: PhraseVectors
    cosines: FloatArray
    words: npt.NDArray[np.uint8]
    whole: FloatArray

    def rows(self, chosen: slice | IntArray) -> BestSpans:
        """Those of some of the documents."""
        return BestSpans(self.phrases, self.cosines[chosen], self.words[chosen], self.whole[chosen])


def phrase_vectors(encoder: TextEncoder, *blocks: Sequence[str]) -> PhraseVectors:
    """The vectors of phrases; of repeated ones the first counts.

    Args:
        encoder: one whose spans are means.
        blocks: phrases; vectors are cached for blocks, so the same ones are read from disk.
    """
    columns: dict[str, int] = {}
    vectors = []
    for block in blocks:
        for text, (_, pieces) in zip(block, encoder.tokens(block), strict=True):
            if text not in columns:
                columns[text] = len(columns)
                vectors.append(pieces.mean(axis=0) if len(pieces) else np.zeros(pieces.shape[1]))
    stacked = np.stack(vectors).astype(np.float32)
    return PhraseVectors(
        columns, stacked / np.maximum(np.linalg.norm(stacked, axis=1, keepdims=True), _TINY)
    )


@one_blas_thread()
def best_spans(
    encoder: TextEncoder,
    documents: Sequence[str],
    phrases: PhraseVectors,
    label: str,
    progress: Progress,
) -> BestSpans:
    """Score every span of up to 20 words of every document.

    Args:
        encoder: one whose spans are means.
        documents: short texts.
        phrases: what they are compared with.
        label: of the progress.
        progress: reports the documents scored.
    """
    cosines = np.full((len(documents), len(phrases.columns)), -1, dtype=np.float32)
    words = np.ones((len(documents), len(phrases.columns)), dtype=np.uint8)
    whole = np.zeros(cosines.shape, dtype=np.float32)
    encoded = track(encoder.tokens(documents), label, len(documents), progress)
    for row, (aligned, vectors) in enumerate(encoded):
        if len(aligned.words):
            cosines[row], words[row] = _best(vectors, aligned.words, phrases.vectors)
            mean = vectors.mean(axis=0)
            whole[row] = phrases.vectors @ (mean / max(float(np.linalg.norm(mean)), _TINY))
    return BestSpans(phrases, cosines, words, whole)


def _best(
    vectors: FloatArray, words: IntArray, phrases: FloatArray
) -> tuple[FloatArray, npt.NDArray[np.uint8]]:
    """The cosine of the best span for each phrase, and its number of words."""
    products = _sums(vectors @ phrases.T)
    sums = _sums(vectors)
    highest = np.full(len(phrases), -1, dtype=np.float32)
    lengths = np.ones(len(phrases), dtype=np.uint8)
    for length in range(1, min(len(words), MAX_WORDS) + 1):
        first, last = words[: len(words) - length + 1, 2], words[length - 1 :, 3]
        norms = np.linalg.norm(sums[last] - sums[first], axis=1, keepdims=True)
        cosines = ((products[last] - products[first]) / np.maximum(norms, _TINY)).max(axis=0)
        better = cosines > highest
        highest[better] = cosines[better]
        lengths[better] = length
    return highest, lengths


def _sums(values: FloatArray) -> FloatArray:
    """Sums of the rows before each row, and of all."""
    sums = np.zeros((len(values) + 1, values.shape[1]), dtype=np.float32)
    values.cumsum(axis=0, out=sums[1:])
    return sums
