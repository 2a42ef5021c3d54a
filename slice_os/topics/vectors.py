"""Vectors of words in their passage, for comparing them with phrases."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.encoder.alignment import AlignedText
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.hits.hit import Context, Hit
from slice_os.text.words import touched_words

_PASSAGES_KEPT = 64


class SpanVectors:
    """The vectors of spans and of phrases, each passage and each phrase encoded once.

    Args:
        encoder: makes them.
        phrases: phrases that will be compared.
    """

    def __init__(self, encoder: SpanEncoder, phrases: Sequence[str]) -> None:
        self._encoder = encoder
        self._rows = {phrase: row for row, phrase in enumerate(phrases)}
        self._phrases = encoder.encode_phrases(list(phrases))
        self._encoded = lru_cache(_PASSAGES_KEPT)(self._encode)

    def cosines(self, hit: Hit, phrases: Sequence[str]) -> FloatArray:
        """The cosines of the words of a hit with some of the phrases."""
        rows = [self._rows[phrase] for phrase in phrases]
        cosines: FloatArray = self._phrases[rows] @ self.of(hit.context, hit.start, hit.end)
        return cosines

    def phrase(self, text: str) -> FloatArray:
        """The unit vector of one of the phrases."""
        vector: FloatArray = self._phrases[self._rows[text]]
        return vector

    def of(self, context: Context, start: int, end: int) -> FloatArray:
        """The unit vector of the code points ``start:end`` of a document, in a passage of it."""
        aligned, vectors = self._encoded(context.text)
        words = aligned.words
        first, last = touched_words(words, start - context.start, end - context.start)
        if last <= first:
            return np.zeros(self._encoder.card.dimension, dtype=np.float32)
        vector = vectors[words[first, 2] : words[last - 1, 3]].sum(axis=0)
        unit: FloatArray = vector / max(float(np.linalg.norm(vector)), 1e-12)
        return unit

    def _encode(self, text: str) -> tuple[AlignedText, FloatArray]:
        return self._encoder.encode_text(text)
