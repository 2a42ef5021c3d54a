"""Vectors of phrases in their texts, for every kind of encoder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.encoder.alignment import AlignedText
from slice_os.errors import InputError
from slice_os.evaluation.encoders.base import Representation, TextEncoder
from slice_os.evaluation.encoders.representations import locate_words, span_vector

Place: TypeAlias = tuple[int, int]


class InContext(str):
    """A phrase together with its context, for encoders that read both.

    As a string it contains both: for encoders that treat it as text, and as a key of caches.

    Args:
        phrase: the phrase.
        context: the text around it.
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
    encoder: TextEncoder, texts: Sequence[str], places: Sequence[Sequence[Place]]
) -> list[FloatArray]:
    """Vectors of phrases at given places in texts, from one forward pass for each text.

    A phrase includes all the words that it touches. An encoder without token vectors reads each
    phrase as `InContext`, in a pass of its own.

    Args:
        encoder: any encoder.
        texts: the contexts; a repeated text is encoded once.
        places: for each text, the offsets of its phrases.

    Returns:
        For each text, ``(n_places, dimension)``, not normalised.

    Raises:
        InputError: if a phrase has no word.
    """
    if encoder.representation == "whole":
        pairs = [
            InContext(text[start:end], text)
            for text, some in zip(texts, places, strict=True)
            for start, end in some
        ]
        return np.split(encoder.phrases(pairs), np.cumsum([len(some) for some in places])[:-1])
    rows: dict[str, list[int]] = {}
    for row, text in enumerate(texts):
        rows.setdefault(text, []).append(row)
    found: list[FloatArray] = [np.empty(0, dtype=np.float32)] * len(texts)
    for aligned, vectors in encoder.tokens(list(rows)):
        for row in rows[aligned.text]:
            found[row] = _span_vectors(encoder.representation, aligned, vectors, places[row])
    return found


def _span_vectors(
    representation: Representation,
    aligned: AlignedText,
    vectors: FloatArray,
    places: Sequence[Place],
) -> FloatArray:
    spans = []
    for start, end in places:
        words = locate_words(aligned, start, end)
        if words is None:
            phrase = aligned.text[start:end]
            raise InputError(f"the phrase {phrase!r} has no word to make a vector of")
        spans.append(span_vector(representation, aligned, vectors, *words))
    return np.array(spans, dtype=np.float32)
