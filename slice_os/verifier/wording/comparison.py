"""Comparing the wording of a phrase and a span: numbers for a model, and reasons for people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.verifier.wording.amounts import Amount, find_amounts, unmatched
from slice_os.verifier.wording.cues import CUES, asks, denials
from slice_os.verifier.wording.pairs import converse, opposite
from slice_os.verifier.wording.parties import PERSONS, Match, Order, is_content, key, order_of
from slice_os.verifier.wording.reading import Reading
from slice_os.verifier.wording.verbs import is_past

_MATCHED = 0.55
_NEAR = 0.35
_NUMBERED = (
    *("cosine", "cosine_squared", "covered", "covering", "least", "same_words", "same_similarity"),
    *("phrase_words", "span_words", "ratio", "denials", "refusals", "span_denials"),
    *("span_refusals", "odd_denials", "odd_all", "before_denials", "opposites", "odd_opposites"),
    *("asks", "span_asks", "asks_only", "span_asks_only", "missing_amounts", "extra_amounts"),
    *(
        "conflicting_amounts",
        "same_order",
        "inverted",
        "exact_same",
        "exact_inverted",
        "converse",
        "turned",
        "kept",
        "flipped",
    ),
    *(
        "past_verb",
        "span_past_verb",
        "past_gone",
        "past_new",
        "turned_voice",
        "other_person",
        "reasons",
    ),
)
FEATURES = (
    *_NUMBERED,
    *(f"{end}_{name}" for name in CUES for end in ("lost", "gained", "shared")),
)
"""What each number of a comparison is."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What the wording of a phrase and a span has in common and does not.

    Attributes:
        features: ``(n_features,)`` as `FEATURES` names them.
        reasons: what speaks against the span, for people.
    """

    features: FloatArray
    reasons: tuple[str, ...]


def compare_wording(reading: Reading) -> Comparison:
    """Compare the words of a phrase with those of a span."""
    similar = reading.phrase_vectors @ reading.span_vectors.T
    matches = _matches(reading, similar)
    order = order_of(reading.phrase, reading.span, matches)
    told = f"{reading.before} {reading.span_text}"
    own, other = denials(reading.phrase_text), denials(told)
    inside = denials(reading.span_text)
    amounts, others = find_amounts(reading.phrase_text), find_amounts(told)
    missing, extra = unmatched(amounts, others), unmatched(others, amounts)
    opposites = _opposites(reading)
    asked = asks(reading.phrase_text, "")
    span_asked = asks(reading.span_text, reading.after) or asks(told.strip(), reading.after)
    found = {
        name: (bool(cue.search(reading.phrase_text)), bool(cue.search(told)))
        for name, cue in CUES.items()
    }
    past, span_past = (any(map(is_past, words)) for words in (reading.phrase, reading.span))
    voices = found["passive"][0] != found["passive"][1]
    odd = (own[0] + other[0]) % 2
    reasons = _reasons(odd, own, other, opposites, missing, extra, asked, span_asked)
    exact = order.exact_same != order.exact_inverted
    if exact and _flipped(order, voices) and found["from"][0] == found["from"][1]:
        reasons.append("other way round")
    found["past"] = (found["past"][0] or past, found["past"][1] or span_past)
    reasons += _moods(found)
    values = [
        *_similarity(reading, similar, matches),
        min(own[0], 3), min(own[1], 3), min(other[0], 3), min(other[1], 3),
        odd, (sum(own) + sum(other)) % 2, min(other[0] - inside[0], 2),
        min(len(opposites), 3), (sum(own) + sum(other) + len(opposites)) % 2,
        asked, span_asked, asked and not span_asked, span_asked and not asked,
        min(len(missing), 3), min(len(extra), 3), bool(missing) and bool(extra),
        min(order.same, 6), min(order.inverted, 6),
        min(order.exact_same, 6), min(order.exact_inverted, 6), order.converse, order.turned,
        order.kept, _flipped(order, voices), past, span_past,
        past and not span_past, span_past and not past, voices, _other_person(reading),
        min(len(reasons), 3),
    ]  # fmt: skip
    for has, had in found.values():
        values += [has and not had, had and not has, has and had]
    return Comparison(np.array(values, dtype=np.float32), tuple(reasons))


def _matches(reading: Reading, similar: FloatArray) -> list[Match]:
    """For each word of the phrase the word of the span that is the same, or the most similar."""
    if not similar.size:
        return []
    matches = []
    keys = [key(word) for word in reading.span]
    for row, word in enumerate(reading.phrase):
        own = key(word)
        equal = [place for place, other in enumerate(keys) if other == own]
        choices = equal or range(len(keys))
        best = max(choices, key=lambda place: float(similar[row, place]))
        if equal or similar[row, best] >= _MATCHED:
            matches.append(Match(row, best, float(similar[row, best])))
    return matches


def _similarity(reading: Reading, similar: FloatArray, matches: list[Match]) -> list[float]:
    rows = [row for row, word in enumerate(reading.phrase) if is_content(word)]
    columns = [place for place, word in enumerate(reading.span) if is_content(word)]
    rows = rows or list(range(len(reading.phrase)))
    columns = columns or list(range(len(reading.span)))
    best = similar[rows].max(axis=1) if similar.size else np.zeros(1)
    back = similar[:, columns].max(axis=0) if similar.size else np.zeros(1)
    same = [one for one in matches if key(reading.phrase[one.word]) == key(reading.span[one.other])]
    ours, theirs = max(1, len(reading.phrase)), max(1, len(reading.span))
    return [
        reading.cosine,
        reading.cosine**2,
        float(best.mean()),
        float(back.mean()),
        float(best.min()),
        len(same) / ours,
        float(np.mean([one.similarity for one in same])) if same else 0.0,
        float(np.log(ours)),
        float(np.log(theirs)),
        float(np.log(theirs / ours)),
    ]


def _opposites(reading: Reading) -> list[tuple[str, str]]:
    """Words of the phrase that the span lacks, with an opposite that only the span has."""
    ours, theirs = set(reading.phrase), set(reading.span)
    return [
        (one, other)
        for one in sorted(ours - theirs)
        for other in sorted(theirs - ours)
        if opposite(one, other) and not converse(one, other)
    ]


def _flipped(order: Order, voices: bool) -> bool:
    """Whether the parties have changed places, once voice and converse words are counted in."""
    if order.exact_same == order.exact_inverted:
        return order.turned and not voices and not order.converse
    return (order.exact_inverted > order.exact_same) ^ voices ^ order.converse


def _other_person(reading: Reading) -> bool:
    ours = {PERSONS[word] for word in reading.phrase if word in PERSONS}
    theirs = {PERSONS[word] for word in reading.span if word in PERSONS}
    return bool(ours) and bool(theirs) and not ours & theirs


def _reasons(
    odd: int,
    own: tuple[int, int],
    other: tuple[int, int],
    opposites: list[tuple[str, str]],
    missing: list[Amount],
    extra: list[Amount],
    asked: bool,
    span_asked: bool,
) -> list[str]:
    reasons = []
    denied = odd or (sum(own) + sum(other)) % 2
    if denied and opposites:  # "not shut" says "open"
        opposites = []
    elif denied:
        reasons.append("negated here" if sum(other) > sum(own) else "not negated here")
    reasons += [f"{ours} ≠ {theirs}" for ours, theirs in opposites[:2]]
    if missing and extra:
        reasons.append(f"{missing[0].text.strip()} ≠ {extra[0].text.strip()}")
    if span_asked and not asked:
        reasons.append("asks, does not say")
    if asked and not span_asked:
        reasons.append("says, does not ask")
    return reasons


def _moods(found: dict[str, tuple[bool, bool]]) -> list[str]:
    reasons = []
    gained = {name for name, (has, had) in found.items() if had and not has}
    lost = {name for name, (has, had) in found.items() if has and not had}
    past = {"past", "perfect"}
    before, after = (any(found[name][side] for name in past) for side in (0, 1))
    if ("future" in gained and before) or ("future" in lost and after):
        reasons.append("another time")
    if ("least" in lost and "most" in gained) or ("most" in lost and "least" in gained):
        reasons.append("another bound")
    if "maybe" in gained:
        reasons.append("only possible here")
    if "permission" in gained and "duty" in lost:
        reasons.append("allowed, not required")
    if "duty" in gained and "permission" in lost:
        reasons.append("required, not only allowed")
    if "condition" in gained:
        reasons.append("on a condition")
    if "some" in gained and "all" in lost:
        reasons.append("not all")
    return reasons
