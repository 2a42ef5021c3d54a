"""How near the words of a phrase and a hit are: numbers for a map, and words that answer words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log
from pathlib import Path

import numpy as np

from slice_os.arrays import Float64Array, FloatArray, IntArray
from slice_os.encoder.span_encoder import PieceRange, SpanEncoder
from slice_os.spans.passages import word_vectors
from slice_os.text.words import find_words, touched_words
from slice_os.threads import checkpoint
from slice_os.verifier.claims import Claim

NUMBERS = ("cosine", "least", "phrase_words", "span_words")
"""The numbers of a `Similarity`."""

_FUNCTION_WORDS = frozenset(
    Path(__file__).with_name("function_words.txt").read_text("utf-8").split()
)
_ENDING = re.compile(r"(?:'s|ies|es|s|ed|d|ing|ly)\Z")
_ANSWERS = 0.55  # the least cosine of words that answer each other
_MOST_PHRASES = 1_024
# Characters; a longer phrase is rare, and its vectors take megabytes.
_LONGEST_REMEMBERED = 200


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a phrase or of a hit.

    Attributes:
        words: in lower case, with straight apostrophes.
        content: the places of those that name something; of all, if none does.
        vectors: ``(n_words, dimension)`` unit vectors.
        whole: ``(dimension,)`` the direction of all of them.
    """

    words: tuple[str, ...]
    content: tuple[int, ...]
    vectors: FloatArray
    whole: FloatArray

    @classmethod
    def of(cls, text: str, offsets: IntArray, vectors: FloatArray, whole: FloatArray) -> Words:
        """The words of a text at ``(n_words, 2)`` offsets; ``whole`` may have any length."""
        plain = text.replace("’", "'")
        words = tuple(plain[start:end].lower() for start, end in offsets.tolist())
        content = tuple(place for place, word in enumerate(words) if word not in _FUNCTION_WORDS)
        unit = whole / max(float(np.linalg.norm(whole)), 1e-12)
        return cls(words, content or tuple(range(len(words))), vectors, unit)


@dataclass(frozen=True, slots=True)
class Similarity:
    """How near the words of a phrase and of a hit are.

    Attributes:
        phrase: the words of the phrase.
        span: those of the hit.
        cosine: of both as a whole.
        cosines: ``(n_phrase, n_span)`` of their words.
    """

    phrase: Words
    span: Words
    cosine: float
    cosines: FloatArray

    @property
    def numbers(self) -> tuple[float, ...]:
        """`NUMBERS` of both.

        How near they are as a whole; how near the word of the phrase that is least so is to a word
        of the hit, of those that name something; and the logarithms of how many words there are.
        """
        least = self.cosines[list(self.phrase.content)].max(axis=1).min() if self._any else 0.0
        lengths = (log(max(1, len(each.words))) for each in (self.phrase, self.span))
        return (self.cosine, float(least), *lengths)

    @property
    def matches(self) -> tuple[tuple[str, str], ...]:
        """Words of the phrase with other words of the hit that answer them, each pair once."""
        if not self._any:
            return ()
        rows, columns = self.phrase.content, self.span.content
        near = self.cosines[np.ix_(rows, columns)]
        pairs = [
            (self.phrase.words[row], self.span.words[columns[best]])
            for row, best, cosine in zip(
                rows, near.argmax(axis=1).tolist(), near.max(axis=1).tolist(), strict=True
            )
            if cosine >= _ANSWERS
        ]
        return tuple(dict.fromkeys(pair for pair in pairs if _answer(*pair)))

    @property
    def _any(self) -> bool:
        return self.cosines.size > 0


def numbers_of(found: Sequence[Similarity]) -> Float64Array:
    """``(n, len(NUMBERS))`` the numbers of similarities."""
    rows = [one.numbers for one in found]
    return np.array(rows, dtype=np.float64).reshape(-1, len(NUMBERS))


class SimilarityReader:
    """Compares claims, and remembers phrases: a search has few, but many hits of each."""

    def __init__(self, encoder: SpanEncoder) -> None:
        self._encoder = encoder
        self._phrases: dict[str, Words] = {}

    def read(self, claims: Sequence[Claim]) -> list[Similarity]:
        """The similarity of each claim; each text is encoded once."""
        phrases = self._remembered([claim.phrase for claim in claims])
        known = [_known_words(claim) for claim in claims]
        unread = [claim.text for claim, span in zip(claims, known, strict=True) if span is None]
        texts = self._encoded(unread) if unread else {}
        found = []
        for claim, given in zip(claims, known, strict=True):
            checkpoint()
            span = given or texts[claim.text].within(claim.start, claim.end)
            phrase = phrases[claim.phrase]
            cosine = float(phrase.whole @ span.whole) if claim.cosine is None else claim.cosine
            found.append(Similarity(phrase, span, cosine, phrase.vectors @ span.vectors.T))
        return found

    def _remembered(self, phrases: Sequence[str]) -> dict[str, Words]:
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
        return {text: _Text(text, one.words, pieces) for text, (one, pieces) in read.items()}


@dataclass(frozen=True, slots=True)
class _Text:
    """An encoded text: ``(n_words, 4)`` words, and ``(n_pieces, dimension)`` vectors."""

    text: str
    words: IntArray
    pieces: FloatArray

    def within(self, start: int, end: int) -> Words:
        """The words that code points ``start:end`` touch."""
        first, last = touched_words(self.words, start, end)
        words = self.words[first:last]
        pieces = self.pieces[words[0, 2] : words[-1, 3]] if len(words) else self.pieces[:0]
        vectors = word_vectors(self.pieces, words[:, 2:])
        return Words.of(self.text, words[:, :2], vectors, pieces.sum(axis=0))


def _known_words(claim: Claim) -> Words | None:
    """The words of a claim, if it has their vectors."""
    vectors = claim.word_vectors
    if vectors is None:
        return None
    own = claim.text[claim.start : claim.end]
    words = find_words(own)
    if len(words) != len(vectors):  # very long words are cut when they are encoded
        return None
    return Words.of(own, words[:, :2], vectors, vectors.sum(axis=0))


def _answer(word: str, other: str) -> bool:
    """Whether two words that are near are both of content, and not forms of one."""
    return not {word, other} & _FUNCTION_WORDS and _stem(word) != _stem(other)


@lru_cache(1 << 14)
def _stem(word: str) -> str:
    """A word without its regular ending."""
    cut = _ENDING.sub("", word)
    return cut if len(cut) > 2 else word
