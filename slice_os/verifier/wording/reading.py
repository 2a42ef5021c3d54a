"""Reading a claim: the words of phrase and span with their vectors, and the clause around."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slice_os.arrays import FloatArray, IntArray
from slice_os.encoder.calibration import Calibration
from slice_os.encoder.span_encoder import PieceRange, SpanEncoder
from slice_os.spans.passages import word_vectors
from slice_os.text.words import find_words, touched_words
from slice_os.verifier.claims import Claim

_BORDER = re.compile(r"[.;:!?\n,]")
_WORDS_BEFORE = 5
_MOST_PHRASES = 1_024
# Characters; a longer phrase is rare, and its vectors take megabytes.
_LONGEST_REMEMBERED = 200


@dataclass(frozen=True, slots=True)
class Reading:
    """A claim, ready to be compared; all text is in lower case.

    Attributes:
        phrase: its words.
        span: its words.
        earlier: what comes before ``before`` in the text.
        before: the words of its clause before the span; at most a few.
        opens: whether ``before``, or the span if that is empty, begins a clause.
        after: the text behind it.
        phrase_vectors: ``(n_phrase, dimension)`` unit vectors of words.
        span_vectors: ``(n_span, dimension)``.
        cosine: of the mean vectors.
        prior: the probability that the cosine gives; not a number if nothing gives one.
    """

    phrase: tuple[str, ...]
    span: tuple[str, ...]
    phrase_text: str
    span_text: str
    earlier: str
    before: str
    opens: bool
    after: str
    phrase_vectors: FloatArray
    span_vectors: FloatArray
    cosine: float
    prior: float


@dataclass(frozen=True, slots=True)
class _Text:
    """An encoded text: ``(n_words, 4)`` words, and ``(n_pieces, dimension)`` vectors."""

    words: IntArray
    pieces: FloatArray

    def within(self, start: int, end: int) -> _Words:
        """The words that code points ``start:end`` touch."""
        first, last = touched_words(self.words, start, end)
        words = self.words[first:last]
        pieces = self.pieces[words[0, 2] : words[-1, 3]] if len(words) else self.pieces[:0]
        return _Words(words[:, :2], word_vectors(self.pieces, words[:, 2:]), pieces.sum(axis=0))


@dataclass(frozen=True, slots=True)
class _Words:
    """``(n, 2)`` words with their ``(n, dimension)`` unit vectors, and a vector of all of them."""

    offsets: IntArray
    vectors: FloatArray
    whole: FloatArray


class ClaimReader:
    """Reads claims, and remembers phrases: a search has few, but many hits of each."""

    def __init__(self, encoder: SpanEncoder) -> None:
        self._encoder = encoder
        self._calibration = encoder.calibration
        self._phrases: dict[str, _Words] = {}

    def read(self, claims: Sequence[Claim]) -> list[Reading]:
        """Claims ready to be compared; each text is encoded once."""
        phrases = self._remembered([claim.phrase for claim in claims])
        known = [_known_words(claim) for claim in claims]
        unread = [claim.text for claim, span in zip(claims, known, strict=True) if span is None]
        texts = self._encoded(unread) if unread else {}
        return [
            _reading(
                claim,
                phrases[claim.phrase],
                texts[claim.text].within(claim.start, claim.end) if span is None else span,
                self._calibration,
            )
            for claim, span in zip(claims, known, strict=True)
        ]

    def _remembered(self, phrases: Sequence[str]) -> dict[str, _Words]:
        known = self._phrases
        if new := [phrase for phrase in phrases if phrase not in known]:
            encoded = self._encoded(new).items()
            read = {phrase: text.within(0, len(phrase)) for phrase, text in encoded}
            kept = known if len(known) + len(read) <= _MOST_PHRASES else {}
            short = {one: words for one, words in read.items() if len(one) <= _LONGEST_REMEMBERED}
            # Never changed, so that other threads can read it meanwhile.
            self._phrases, known = {**kept, **short}, {**known, **read}
        return known

    def _encoded(self, texts: Sequence[str]) -> dict[str, _Text]:
        recent = self._encoder.recent
        read = {text: recent[text] for text in texts if text in recent}
        new = [text for text in dict.fromkeys(texts) if text not in read]
        aligned = [self._encoder.align(text) for text in new]
        vectors = self._encoder.encode_ranges(
            [PieceRange(one, 0, len(one.piece_ids)) for one in aligned]
        )
        read |= zip(new, zip(aligned, vectors, strict=True), strict=True)
        return {text: _Text(one.words, pieces) for text, (one, pieces) in read.items()}


def _known_words(claim: Claim) -> _Words | None:
    """The words of a claim, if it has their vectors."""
    if claim.word_vectors is None:
        return None
    words = find_words(claim.text)
    first, last = touched_words(words, claim.start, claim.end)
    if last - first != len(claim.word_vectors):  # very long words are cut when they are encoded
        return None
    return _Words(words[first:last], claim.word_vectors, claim.word_vectors.sum(axis=0))


def _reading(
    claim: Claim, phrase: _Words, span: _Words, calibration: Calibration | None
) -> Reading:
    opens, whole = _clause_start(claim.text, claim.start)
    cosine = _cosine(phrase.whole, span.whole) if claim.cosine is None else claim.cosine
    prior = claim.prior
    if prior is None and calibration is not None:
        lengths = max(1, len(phrase.vectors)), max(1, len(span.vectors))
        prior = calibration.probabilities(cosine, *lengths).item()
    return Reading(
        tuple(claim.phrase[s:e].lower() for s, e in phrase.offsets.tolist()),
        tuple(claim.text[s:e].lower() for s, e in span.offsets.tolist()),
        claim.phrase.lower(),
        claim.text[claim.start : claim.end].lower(),
        claim.text[:opens].lower(),
        claim.text[opens : claim.start].lower().lstrip(),
        whole,
        claim.text[claim.end :].lower(),
        phrase.vectors,
        span.vectors,
        cosine,
        math.nan if prior is None else prior,
    )


def _clause_start(text: str, start: int) -> tuple[int, bool]:
    """Return the start of the clause, within a few words, and whether one was found."""
    borders = [found.end() for found in _BORDER.finditer(text, 0, start)]
    border = borders[-1] if borders else 0
    words = [found.start() for found in re.finditer(r"\S+", text[:start])]
    near = words[-_WORDS_BEFORE] if len(words) >= _WORDS_BEFORE else 0
    return max(near, border), near <= border or not text[border:near].strip()


def _cosine(first: FloatArray, second: FloatArray) -> float:
    length = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(first @ second) / max(length, 1e-12)
