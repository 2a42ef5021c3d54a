"""Comparing the wording of a phrase and a span: numbers for a model, and reasons for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log
from statistics import fmean
from typing import Any

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.verifier.wording.amounts import Amount, find_amounts, unmatched
from slice_os.verifier.wording.moods import (
    asks,
    cues_of,
    denials,
    denied_words,
    long_ago,
    may_ask,
    only_unless,
    past_words,
    requests,
    same_result,
    with_ban,
)
from slice_os.verifier.wording.parties import PERSONS, WordMatch, bare, is_content, key, order_of
from slice_os.verifier.wording.reading import Reading
from slice_os.verifier.wording.words import CUES, converse, opposite

# A search has few phrases, but many hits of each, and people say the same words again and again.
_REMEMBERED = 4_096
_MATCHED = 0.55
_PERMUTED = 0.7
_SAME = 0.72
_REASONS = {
    "denied": "negated here",
    "affirmed": "not negated here",
    "asked": "asks, does not say",
    "stated": "says, does not ask",
    "exchanged": "other way round",
    "time": "another time",
    "past": "in the past here",
    "present": "in the present here",
    "bound": "another bound",
    "possible": "only possible here",
    "sure": "certain here",
    "allowed": "allowed, not required",
    "required": "required, not only allowed",
    "wished": "only wished here",
    "condition": "on a condition",
    "some": "not all",
    "person": "another person",
}
SIMILARITIES = (
    *("cosine", "cosine_squared", "covered", "covering", "least", "same_words", "same_similarity"),
    *("phrase_words", "span_words", "ratio"),
)
"""Those that say how near the words are; they are the first."""
FEATURES = (
    *SIMILARITIES,
    *("odd_denials", "odd_outright", "missing_amounts", "extra_amounts", "same_order", "inverted"),
    *("exact_same", "exact_inverted", "converse", "turned", "kept"),
    *("past_gone", "past_new", "reasons", "amount", "opposite"),
    *_REASONS,
)
"""The names of the numbers of a comparison."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The ``(n_features,)`` numbers of `FEATURES`, and evidence against and for the span.

    ``reasons`` are for people, ``matches`` other words of the span that answer one of the phrase.
    """

    features: FloatArray
    reasons: tuple[str, ...]
    matches: tuple[tuple[str, str], ...]


def compare_wording(reading: Reading) -> Comparison:
    """Compare the words of a phrase with those of a span."""
    similar = reading.phrase_vectors @ reading.span_vectors.T
    matches = _matches(reading, similar)
    order = order_of(reading.phrase, reading.span, matches)
    told = with_ban(reading.earlier, f"{reading.before}{reading.span_text}")
    told = only_unless(reading.earlier, told)
    texts = reading.phrase_text, told
    ours, theirs = _side(reading.phrase, texts[0]), _side(reading.span, told)
    own, other = ours.denials, theirs.denials
    amounts, others = ours.amounts, theirs.amounts
    missing, extra = unmatched(amounts, others), unmatched(others, amounts)
    opposites = _opposites(reading)
    past = _Cue(ours.past, theirs.past)
    found = {name: _Cue(name in ours.cues, name in theirs.cues) for name in (*CUES, "ban")}
    asked = _asked(reading, texts)

    denied = _Cue(bool(sum(own) % 2), bool(sum(other) % 2))
    kinds = _moods(found, asked, past, bool(amounts and others))
    kinds |= _tenses(found, texts)
    within = sum(sum(denials(word)) for pair in opposites for word in pair)
    odd, outright = denied.differs, bool((own[0] + other[0]) % 2)
    if opposites and denied.differs ^ bool(within % 2):  # "not shut" says "open"
        opposites, odd, outright = [], False, False
    elif denied.differs and not opposites and _same_denied(texts, reading, similar):
        kinds.add("denied" if denied.span else "affirmed")
    if order.exchanged and (
        order.converse or (_shared(reading) >= _PERMUTED and not found["from"].differs)
    ):
        kinds.add("exchanged")
    if _other_person(reading):
        kinds.add("person")
    reasons = [f"{one} ≠ {another}" for one, another in opposites[:1]]
    if missing and extra:
        reasons.append(f"{missing[0].text.strip()} ≠ {extra[0].text.strip()}")
    reasons += [text for kind, text in _REASONS.items() if kind in kinds]
    values = [
        *_similarity(reading, similar, matches),
        odd, outright, min(len(missing), 3), min(len(extra), 3),
        min(order.same, 6), min(order.inverted, 6), min(order.exact_same, 6),
        min(order.exact_inverted, 6), order.converse, order.turned, order.kept,
        past.lost, past.gained, min(len(reasons), 3),
        bool(missing and extra), bool(opposites), *(kind in kinds for kind in _REASONS),
    ]  # fmt: skip
    paired = [(reading.phrase[one.word], reading.span[one.other]) for one in matches]
    answers = [pair for pair in paired if all(map(is_content, pair)) and len({*map(key, pair)}) > 1]
    return Comparison(np.array(values, dtype=np.float32), tuple(reasons), tuple(answers))


@dataclass(frozen=True, slots=True)
class _Side:
    """A reading of the text of a phrase or a span by itself."""

    denials: tuple[int, int]
    amounts: Sequence[Amount]
    past: bool
    cues: frozenset[str]

    @classmethod
    def of(cls, words: Sequence[str], text: str) -> _Side:
        past = bool(past_words(words, text))
        return cls(denials(text), find_amounts(text), past, cues_of(text))


_side = lru_cache(_REMEMBERED)(_Side.of)


@dataclass(frozen=True, slots=True)
class _Cue:
    """Whether the phrase and the span have something."""

    phrase: bool
    span: bool

    @property
    def gained(self) -> bool:
        return self.span and not self.phrase

    @property
    def lost(self) -> bool:
        return self.phrase and not self.span

    @property
    def differs(self) -> bool:
        return self.phrase != self.span


def _matches(reading: Reading, similar: FloatArray) -> list[WordMatch]:
    """For each word of the phrase the word of the span that is the same, or the most similar."""
    if not similar.size:
        return []
    matches, similarities = [], similar.tolist()
    keys, bared = list(map(key, reading.span)), list(map(bare, reading.span))
    ours = list(map(bare, reading.phrase))
    taken: set[int] = set()
    for row, word in enumerate(reading.phrase):
        own = key(word)
        # "I" and "my" of the phrase cannot both be the one "I" of the span.
        equal = [place for place, other in enumerate(keys) if other == own and place not in taken]
        # Nor is "I" the "my" of the span that is the "my" of the phrase.
        equal = [place for place in equal if bared[place] == ours[row]] or [
            place for place in equal if reading.span[place] not in reading.phrase
        ]
        # Of a word that both have as often, the first is the first.
        if len(equal) == ours[row:].count(ours[row]):
            equal = equal[:1]
        choices = equal or [place for place, other in enumerate(keys) if other != own]
        if not choices:
            continue
        own_row = similarities[row]
        best = max(choices, key=own_row.__getitem__)
        if equal:
            taken.add(best)
        if equal or own_row[best] >= _MATCHED:
            matches.append(WordMatch(row, best, own_row[best]))
    return matches


def _similarity(reading: Reading, similar: FloatArray, matches: list[WordMatch]) -> list[Any]:
    rows, columns = (
        [place for place, word in enumerate(words) if is_content(word)] or list(range(len(words)))
        for words in (reading.phrase, reading.span)
    )
    best = similar[rows].max(axis=1).tolist() if similar.size else [0.0]
    back = similar[:, columns].max(axis=0).tolist() if similar.size else [0.0]
    same = [one for one in matches if key(reading.phrase[one.word]) == key(reading.span[one.other])]
    ours, theirs = max(1, len(reading.phrase)), max(1, len(reading.span))
    return [
        *(reading.cosine, reading.cosine**2, fmean(best), fmean(back), min(best)),
        len(same) / ours,
        fmean(one.similarity for one in same) if same else 0.0,
        *map(log, (ours, theirs, theirs / ours)),
    ]


def _opposites(reading: Reading) -> list[tuple[str, str]]:
    """Words of the phrase that the span lacks, with an opposite that only the span has."""
    ours, theirs = set(reading.phrase), set(reading.span)
    keys = {*map(key, ours)} & {*map(key, theirs)}
    return [
        (one, other)
        for one in sorted(one for one in ours if key(one) not in keys)
        for other in sorted(other for other in theirs if key(other) not in keys)
        if opposite(one, other) and not converse(one, other)
    ]


def _same_denied(texts: tuple[str, str], reading: Reading, similar: FloatArray) -> bool:
    """Whether the other text has what one of them denies, in the same words or nearly so.

    Where it is only similar, as "working" and "down", the two may well say the same.
    """
    ours, theirs = denied_words(texts[0]), denied_words(texts[1])
    return any(
        similar[row, column] >= _SAME or key(word) == key(other)
        for row, word in enumerate(reading.phrase)
        for column, other in enumerate(reading.span)
        if word in ours or other in theirs
    )


def _shared(reading: Reading) -> float:
    """The share of the words of the phrase, apart from the smallest, that the span has."""
    ours = [key(word) for word in reading.phrase if is_content(word) or word in PERSONS]
    theirs = {key(word) for word in reading.span}
    return sum(one in theirs for one in ours) / max(1, len(ours))


def _asked(reading: Reading, texts: tuple[str, str]) -> _Cue:
    """Whether phrase and span ask; both do if both request, or if the other one may ask."""
    asked = _Cue(asks(texts[0], ""), asks(texts[1], reading.after, reading.opens))
    other = texts[0] if asked.gained else reading.span_text
    if asked.differs and (may_ask(other) or (requests(texts[0]) and requests(texts[1]))):
        return _Cue(phrase=True, span=True)
    return asked


def _tenses(found: Mapping[str, _Cue], texts: tuple[str, str]) -> set[str]:
    """Present against past: another time if it is over, else a state that may well last."""
    now, before = found["is"], found["was"]
    if now.lost and before.gained:
        present, told, kind = *texts, "past"
    elif now.gained and before.lost:
        present, told, kind = texts[1], texts[0], "present"
    else:
        return set()
    if long_ago(told):
        return {"time"}
    return set() if same_result(present, told) else {kind}


def _other_person(reading: Reading) -> bool:
    """Whether "he" has become "she", or the reverse."""
    ours, theirs = (
        {PERSONS.get(word) for word in words} & {3, 4} for words in (reading.phrase, reading.span)
    )
    return bool(ours) and bool(theirs) and not ours & theirs


def _moods(found: Mapping[str, _Cue], asked: _Cue, past: _Cue, counted: bool) -> set[str]:
    """Differences in time, mood, modality and quantity."""
    before = [found["was"], found["past"], found["perfect"], past]
    told, span_told = any(cue.phrase for cue in before), any(cue.span for cue in before)
    ahead = found["future"]
    certain = ahead.span or span_told
    bounds = (found["least"], found["most"]), (found["before"], found["after"])
    checks = {
        "asked": asked.gained,
        "stated": asked.lost,
        "time": (ahead.gained and told)
        or (ahead.lost and span_told)
        or (found["duty"].lost and found["was"].gained)
        or (found["duty"].gained and told and not span_told),
        "bound": counted
        and any((low.lost and high.gained) or (low.gained and high.lost) for low, high in bounds),
        "possible": not asked.span
        and (found["maybe"].gained or (found["permission"].gained and ahead.lost)),
        "sure": found["maybe"].lost
        and certain
        and not asked.phrase
        and not found["permission"].span,
        "allowed": (found["permission"].gained and (found["duty"].lost or found["ban"].lost))
        or (found["free"].gained and found["ban"].lost),
        "required": (found["permission"].lost and (found["duty"].gained or found["ban"].gained))
        or (found["free"].lost and found["ban"].gained),
        "wished": not found["duty"].phrase
        and (
            (found["wish"].gained and (told or ahead.lost))
            or (found["please"].gained and told and not span_told)
        ),
        "condition": found["condition"].gained and not asked.span,
        "some": found["some"].gained and found["all"].lost and not asked.phrase,
    }
    return {kind for kind, differs in checks.items() if differs}
