"""Parties of a text: people and things in it, their order, and the side it is told from."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from slice_os.verifier.wording.words import CUES, converse, is_past, stem, word_list

PERSONS = {
    **dict.fromkeys(("i", "me", "my", "mine", "myself", "i'm", "i've", "i'll", "i'd"), 1),
    **dict.fromkeys(("we", "us", "our", "ours", "we're", "we've", "we'll", "we'd"), 1),
    **dict.fromkeys(("you", "your", "yours", "you're", "you've", "you'll", "you'd"), 2),
    **dict.fromkeys(("he", "him", "his", "he's", "he'll", "he'd"), 3),
    **dict.fromkeys(("she", "her", "hers", "she's", "she'll", "she'd"), 4),
    **dict.fromkeys(("they", "them", "their", "theirs"), 5),
    **dict.fromkeys(("they're", "they'll", "they've", "they'd"), 5),
}
_SUBJECTS, _OBJECTS = word_list("subjects"), word_list("objects")
_CLOSED = word_list("closed")
# Words between two parties, besides those that name: verbs, and words that give a direction.
_LINKS = word_list("links")
_MOST_WORDS = 16_384
_SHORT = re.compile(r"['’](?:m|re|s|ll|ve|d)\Z")
_PASSIVE = re.compile(CUES["passive"].pattern + r"\Z")


@dataclass(frozen=True, slots=True)
class WordMatch:
    """The places of a word of the phrase and of its best partner in the span; their cosine."""

    word: int
    other: int
    similarity: float


@dataclass(frozen=True, slots=True)
class Order:
    """The order of the matched words of two texts, and what exchanges them.

    Attributes:
        same: pairs of similar words in the same order.
        inverted: pairs in the other order.
        exact_same: pairs of the same words in the same order.
        exact_inverted: such pairs in the other order.
        exchanged: whether two of the same words have changed places around a third, once the
            voice of that one is counted in.
        converse: whether a word tells the same from the other side.
        turned: whether a person is the subject in one text and an object in the other.
        kept: whether a person is the subject in both.
    """

    same: int
    inverted: int
    exact_same: int
    exact_inverted: int
    exchanged: bool
    converse: bool
    turned: bool
    kept: bool


@lru_cache(_MOST_WORDS)
def key(word: str) -> str:
    """A key that words of one meaning share: a pronoun's person, or the stem of another word."""
    return f"person {PERSONS[word]}" if word in PERSONS else stem(bare(word))


@lru_cache(_MOST_WORDS)
def bare(word: str) -> str:
    """A word without the short form at its end, as "I" of "I'm" and "child" of "child's"."""
    return _SHORT.sub("", word)


def is_content(word: str) -> bool:
    """Whether a word in lower case names something: no pronoun, article or auxiliary."""
    return word not in _CLOSED and word not in PERSONS


def order_of(phrase: Sequence[str], span: Sequence[str], matches: Sequence[WordMatch]) -> Order:
    """The order of the matched words of a phrase in a span; words in lower case."""
    naming = {word for word in phrase if is_content(word) and not is_past(word)} | PERSONS.keys()
    parties = [one for one in matches if phrase[one.word] in naming]
    exact = [one for one in parties if key(phrase[one.word]) == key(span[one.other])]
    subjects, objects = (
        tuple({PERSONS[one] for one in words if one in side} for words in (phrase, span))
        for side in (_SUBJECTS, _OBJECTS)
    )
    ours, theirs = ([key(word) for word in words] for words in (phrase, span))
    only_ours = [word for word, of in zip(phrase, ours, strict=True) if of not in theirs]
    only_theirs = [word for word, of in zip(span, theirs, strict=True) if of not in ours]
    converses = any(itertools.starmap(converse, itertools.product(only_ours, only_theirs)))
    return Order(
        *_pairs(parties),
        *_pairs(exact),
        _exchanged(phrase, span, exact, matches, converses),
        converses,
        turned=bool(
            (subjects[0] & objects[1]) - subjects[1] or (objects[0] & subjects[1]) - objects[1]
        ),
        kept=bool(subjects[0] & subjects[1]),
    )


def _exchanged(
    phrase: Sequence[str],
    span: Sequence[str],
    parties: Sequence[WordMatch],
    matches: Sequence[WordMatch],
    converses: bool,
) -> bool:
    """Whether two parties have changed places around a word that stands between them in both."""
    pivots = [
        one
        for one in matches
        if is_content(phrase[one.word])
        or (phrase[one.word] in _LINKS and span[one.other] in _LINKS)
    ]
    if converses:
        places = itertools.product(enumerate(phrase), enumerate(span))
        pivots += [
            WordMatch(word, other, 1.0)
            for (word, one), (other, another) in places
            if converse(one, another)
        ]

    @cache
    def other_voice(word: int, other: int) -> bool:
        return _passive(phrase, word) != _passive(span, other)

    for first, second in itertools.combinations(parties, 2):
        inverted = first.other > second.other
        low, high = sorted((first.other, second.other))
        voices = {
            other_voice(pivot.word, pivot.other)
            for pivot in pivots
            if first.word < pivot.word < second.word and low < pivot.other < high
        }
        # Of "is obliged to invite" and "is obliged to be invited", the verb that differs counts.
        if voices and inverted ^ (True in voices) ^ converses:
            return True
    return False


def _passive(words: Sequence[str], place: int) -> bool:
    """Whether the word at a place is the participle of a passive."""
    return _PASSIVE.search(" ".join(words[max(0, place - 3) : place + 1])) is not None


def _pairs(matches: Sequence[WordMatch]) -> tuple[int, int]:
    """Pairs of matches in the same and in the other order."""
    pairs = [(one.other, another.other) for one, another in itertools.combinations(matches, 2)]
    return sum(one < other for one, other in pairs), sum(one > other for one, other in pairs)
