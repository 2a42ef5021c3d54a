"""What a reader of vectors reads of a hit: the words of the phrase, and those around the span."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slice_os.arrays import FloatArray, IntArray
from slice_os.hits.hit import HitWithVectors
from slice_os.spans.passages import word_vectors
from slice_os.verifier.bundled import log_odds

AROUND = 12
"""Words before a span, and behind it, that are read."""

OUTSIDE, SENTENCE, SPAN = range(3)


@dataclass(frozen=True, slots=True)
class Near:
    """The words of a span and around it, ``n`` of them.

    Attributes:
        vectors: ``(n, dimension)`` unit vectors.
        parts: ``(n,)`` whether each word is in the span, in its sentence or outside.
        place: of the first word of the span among them.
        cosine: of phrase and span.
        prior: log-odds that the cosine gives.
    """

    vectors: FloatArray
    parts: IntArray
    place: int
    cosine: float
    prior: float


def near(hit: HitWithVectors) -> Near:
    """What is read of a hit."""
    opens = max(0, hit.first - AROUND)
    words = hit.words[opens : hit.last + AROUND]
    starts = words[:, 0]
    parts = np.full(len(starts), SENTENCE)
    if hit.sentence is not None:
        parts[(starts < hit.sentence.start) | (starts >= hit.sentence.end)] = OUTSIDE
    parts[hit.first - opens : hit.last - opens] = SPAN
    vectors, prior = word_vectors(hit.vectors, words[:, 2:]), log_odds(hit.probability or 0.0)
    return Near(vectors, parts, hit.first - opens, hit.cosine, prior)


def feeds(phrases: Sequence[FloatArray], hits: Sequence[Near]) -> dict[str, FloatArray | IntArray]:
    """The inputs of a network for hits, each with the ``(n_words, dimension)`` phrase of its own.

    Shorter phrases and hits are padded with words whose mask is 0.
    """
    ours, our_mask = _padded(phrases)
    theirs, their_mask = _padded([hit.vectors for hit in hits])
    length = max(len(hit.parts) for hit in hits)
    sides = np.zeros((len(hits), length), np.int64)
    for row, hit in enumerate(hits):
        sides[row, : len(hit.parts)] = hit.parts
    return {
        "ours": ours,
        "our_mask": our_mask,
        "theirs": theirs,
        "their_mask": their_mask,
        "sides": sides,
        "places": np.arange(length) - np.array([[hit.place] for hit in hits]),
        "numbers": np.array([(hit.cosine, hit.prior / 4) for hit in hits], np.float32),
    }


def _padded(rows: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    words = np.zeros((len(rows), max(map(len, rows)), rows[0].shape[1]), np.float32)
    mask = np.zeros(words.shape[:2], np.float32)
    for number, row in enumerate(rows):
        words[number, : len(row)] = row
        mask[number, : len(row)] = 1
    return words, mask
