"""Claims, that words say a phrase, and the verdicts of verifiers on them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeAlias

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.hits.hit import Hit, HitWithVectors
from slice_os.spans.passages import word_vectors
from slice_os.text.passage_layout import Reading
from slice_os.text.sentences import sentence_ends
from slice_os.threads import checkpoint

_FEW_WORDS = 6


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim that some words say a phrase.

    Attributes:
        text: the sentence, or sentences, that the words are in.
        start: first code point of the words in ``text``.
        end: one past the last.
        prior: the probability that the cosine gives; None if there is none.
        cosine: of phrase and words; None if not known yet.
        word_vectors: ``(n_words, dimension)`` unit vectors of the words; None if not known.
        before: the question or line before a text of few words, such as the one that "yes" answers.
    """

    phrase: str
    text: str
    start: int
    end: int
    prior: float | None = None
    cosine: float | None = None
    word_vectors: FloatArray | None = field(default=None, compare=False, repr=False)
    before: str = ""

    @property
    def words(self) -> Claim:
        """The claim without what its vectors tell, equal to all others in the same words."""
        return Claim(self.phrase, self.text, self.start, self.end, before=self.before)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The probability that the words say the phrase, with evidence against and for it, for people.

    A reason is a short text such as ``denied: never``; a match is some words of the phrase and
    those that answer them, such as ``("search", "look into")``. There may be none.
    """

    probability: float
    reasons: tuple[str, ...] = ()
    matches: tuple[tuple[str, str], ...] = ()


Verdicts: TypeAlias = Callable[[], Sequence[Verdict]]
"""Gives the verdicts on some claims, in order, once they are read."""


class Verifier(Protocol):
    """Checks claims: one of `slice_os.verifier.registry`, or an object of your own.

    One with an attribute ``language``, an ISO 639 code, gets no claims about other languages. One
    with a method ``begin`` is asked by that; see `begun`. One with a method ``estimate``, which
    takes claims and returns a cheap estimate for each, the likeliest highest, reads only the
    likeliest of the hits that a search puts in order.
    """

    def check(self, claims: Sequence[Claim]) -> Sequence[Verdict]:
        """A verdict for each claim, in order."""
        ...


def begun(verifier: Verifier, claims: Sequence[Claim]) -> Verdicts:
    """The verdicts to call for; a verifier with a method ``begin`` reads until then."""
    checkpoint()
    begin: Callable[[Sequence[Claim]], Verdicts] | None = getattr(verifier, "begin", None)
    return begin(claims) if begin else partial(verifier.check, claims)


def claim_of(hit: Hit) -> Claim:
    """The claim that a hit makes, about the sentences of its passage that its span touches."""
    span, context = hit.span or hit, hit.passage
    reading = hit.reading if isinstance(hit, HitWithVectors) else Reading(context.text)
    # A sentence may begin before its passage.
    begin = context.start if hit.sentence is None else max(hit.sentence.start, context.start)
    close = context.end if hit.sentence is None else hit.sentence.end
    outer = np.array([begin, span.start, span.end, close]) - context.start
    opens, start, end, closes = reading.inner(outer).tolist()
    if hit.sentence is None:
        opens, closes = _sentences(reading.text, start, end)
    own = reading.text[opens:closes]
    vectors = None
    if isinstance(hit, HitWithVectors):
        vectors = word_vectors(hit.vectors, hit.words[hit.first : hit.last, 2:])
    before = _before(reading.text, opens, own)
    place = start - opens, end - opens
    return Claim(hit.phrase, own, *place, hit.probability, hit.cosine, vectors, before)


def claim_in(phrase: str, text: str, start: int, end: int, prior: float | None = None) -> Claim:
    """The claim that the words ``start:end`` of a text say a phrase, in their sentences alone."""
    opens, closes = _sentences(text, start, end)
    own = text[opens:closes]
    before = _before(text, opens, own)
    return Claim(phrase, own, start - opens, end - opens, prior, before=before)


def _sentences(text: str, start: int, end: int) -> tuple[int, int]:
    """The begin and end of the sentences of some words, without white space behind them."""
    ends = sentence_ends(text) or [len(text)]
    before = bisect_right(ends, start)
    opens = ends[before - 1] if before else 0
    closes = ends[bisect_left(ends, end)]
    return opens, opens + len(text[opens:closes].rstrip())


def _before(text: str, at: int, own: str) -> str:
    """The sentence that ends at a place, if what follows it is short and may answer it.

    It does if that sentence is a question, or stands on a line of its own, as a turn does.
    """
    if not at or len(own.split()) > _FEW_WORDS:
        return ""
    ends = sentence_ends(text[:at])
    sentence = text[ends[-2] if len(ends) > 1 else 0 : at]
    said = sentence.rstrip()
    return said.lstrip() if said.endswith("?") or "\n" in sentence[len(said) :] else ""
