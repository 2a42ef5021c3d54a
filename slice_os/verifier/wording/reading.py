"""Reading a claim: the words of phrase and span with their vectors, and the clause around."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slice_os.arrays import FloatArray, IntArray
from slice_os.encoder import PieceRange, SpanEncoder
from slice_os.verifier.claims import Claim
from slice_os.words import touched_words

_BORDER = re.compile(r"[.;:!?\n,]")
_WORDS_BEFORE = 5


@dataclass(frozen=True, slots=True)
class Reading:
    """A claim, ready to be compared.

    Attributes:
        phrase: words of the phrase, lower case.
        span: words of the span, lower case.
        phrase_text: the phrase, lower case.
        span_text: the span, lower case.
        before: the words of its clause before the span, lower case; at most a few.
        opens: whether ``before``, or the span if that is empty, begins a clause.
        after: the text behind it.
        phrase_vectors: ``(n_phrase, dimension)`` unit vectors of words.
        span_vectors: ``(n_span, dimension)``.
        cosine: of the mean vectors.
    """

    phrase: tuple[str, ...]
    span: tuple[str, ...]
    phrase_text: str
    span_text: str
    before: str
    opens: bool
    after: str
    phrase_vectors: FloatArray
    span_vectors: FloatArray
    cosine: float


def read_claims(encoder: SpanEncoder, claims: Sequence[Claim]) -> list[Reading]:
    """Encode claims, each text once."""
    texts = list(dict.fromkeys(one for claim in claims for one in (claim.phrase, claim.text)))
    aligned = [encoder.align(text) for text in texts]
    vectors = encoder.encode_ranges([PieceRange(one, 0, len(one.piece_ids)) for one in aligned])
    encoded = dict(zip(texts, zip(aligned, vectors, strict=True), strict=True))
    readings = []
    for claim in claims:
        (own, ours), (other, theirs) = encoded[claim.phrase], encoded[claim.text]
        first, last = touched_words(other.words, claim.start, claim.end)
        phrase, span = own.words, other.words[first:last]
        opens, whole = _clause_start(claim.text, claim.start)
        readings.append(
            Reading(
                tuple(claim.phrase[s:e].lower() for s, e in phrase[:, :2].tolist()),
                tuple(claim.text[s:e].lower() for s, e in span[:, :2].tolist()),
                claim.phrase.lower(),
                claim.text[claim.start : claim.end].lower(),
                claim.text[opens : claim.start].lower().lstrip(),
                whole,
                claim.text[claim.end :].lower(),
                _means(ours, phrase[:, 2:]),
                _means(theirs, span[:, 2:]),
                _cosine(ours, phrase[:, 2:], theirs, span[:, 2:]),
            )
        )
    return readings


def _clause_start(text: str, start: int) -> tuple[int, bool]:
    """Where the clause of a span begins, at most some words before it; and whether it does."""
    borders = [found.end() for found in _BORDER.finditer(text, 0, start)]
    border = borders[-1] if borders else 0
    words = [found.start() for found in re.finditer(r"\S+", text[:start])]
    near = words[-_WORDS_BEFORE] if len(words) >= _WORDS_BEFORE else 0
    return max(near, border), near <= border or not text[border:near].strip()


def _means(vectors: FloatArray, pieces: IntArray) -> FloatArray:
    means = np.array([vectors[first:last].mean(axis=0) for first, last in pieces.tolist()])
    means = means.reshape(len(pieces), vectors.shape[1])
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    units: FloatArray = (means / np.maximum(lengths, 1e-12)).astype(np.float32)
    return units


def _cosine(ours: FloatArray, own: IntArray, theirs: FloatArray, other: IntArray) -> float:
    if not len(own) or not len(other):
        return 0.0
    first = ours[own[0, 0] : own[-1, 1]].mean(axis=0)
    second = theirs[other[0, 0] : other[-1, 1]].mean(axis=0)
    length = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(first @ second) / max(length, 1e-12)
