"""The best span of each document for each phrase."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from slice_os.arrays import FloatArray, IntArray
from slice_os.evaluation.encoders.base import TextEncoder
from slice_os.evaluation.harness import Progress, track
from slice_os.threads import one_blas_thread
from slice_os.topics.utterances.spans import PhraseVectors, text_spans

_TINY = 1e-12


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
    shape = len(documents), len(phrases.columns)
    cosines, whole = np.empty(shape, dtype=np.float32), np.empty(shape, dtype=np.float32)
    words = np.empty(shape, dtype=np.uint8)
    encoded = track(encoder.tokens(documents), label, len(documents), progress)
    for row, (aligned, vectors) in enumerate(encoded):
        found = text_spans(aligned, vectors, phrases)
        cosines[row], words[row], whole[row] = found.cosines, found.words, found.whole
    return BestSpans(phrases, cosines, words, whole)
