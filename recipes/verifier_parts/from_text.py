"""Statements from real sentences: edited so that they say something else, or of one intent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from .edits import EDITS, edited
from .frames import Statement
from .lexicon import lexicon

_EDITABLE = 24
_DRAWN = 40


def with_edits(
    statements: Iterable[Statement], share: float, verbs: frozenset[str], rng: Random
) -> Iterator[Statement]:
    """Statements, and for a share of those that hold one whose wording was edited."""
    for statement in statements:
        yield statement
        wording = statement.wording
        if statement.says and rng.random() < share and len(wording.split()) <= _EDITABLE:
            kind = rng.choice(sorted(EDITS))
            changed = edited(kind, wording, verbs, rng)
            if changed is not None:
                yield replace(statement, wording=changed[0], says=False, kind=kind, origin=wording)


def from_pairs(
    pairs: Iterable[tuple[str, str]], verbs: frozenset[str], rng: Random
) -> Iterator[Statement]:
    """Pairs that say the same, one of them edited, and both of them edited alike."""
    listed = list(pairs)
    rng.shuffle(listed)
    for first, second in listed * 3:
        if rng.random() < 0.5:
            first, second = second, first
        if _overlap(first, second) < 0.75:
            yield Statement(first, second, True, "paraphrase", "tatoeba")
        kinds = rng.sample(sorted(EDITS), len(EDITS))
        for kind in kinds[:3]:
            state = rng.random()
            changed = edited(kind, second, verbs, Random(state))  # noqa: S311
            if changed is None:
                continue
            yield Statement(first, changed[0], False, kind, "tatoeba", second)
            other = edited(kind, first, verbs, Random(state))  # noqa: S311
            if other is not None and rng.random() < 0.5:
                yield Statement(first, other[0], False, kind, "tatoeba", first)
            if other is not None and other[1] == changed[1]:
                yield Statement(other[0], changed[0], True, kind, "tatoeba")
                yield Statement(other[0], second, False, kind, "tatoeba", changed[0])


def from_sentences(
    sentences: Sequence[str], source: str, verbs: frozenset[str], rng: Random
) -> Iterator[Statement]:
    """Sentences against themselves, edited, or with changes that keep what they say."""
    for sentence in sentences:
        for kind in rng.sample(sorted(EDITS), len(EDITS))[:3]:
            changed = edited(kind, sentence, verbs, rng)
            if changed is None:
                continue
            kept = _kept(sentence, rng)
            phrase, wording = (kept, sentence) if rng.random() < 0.5 else (sentence, kept)
            yield Statement(phrase, wording, True, kind, source)
            yield Statement(phrase, changed[0], False, kind, source, sentence)


def _kept(sentence: str, rng: Random) -> str:
    """A sentence in nearly the same words that say the same."""
    light = lexicon().light
    for first, second in rng.sample(light, len(light)):
        for one, other in ((first, second), (second, first)):
            if f" {one} " in sentence and (one, other) != ("may not", "shall not"):
                return sentence.replace(f" {one} ", f" {other} ", 1)
    return sentence.rstrip(".") if rng.random() < 0.5 else sentence[:1].lower() + sentence[1:]


def from_intents(
    utterances: Mapping[Any, Sequence[str]], source: str, rng: Random
) -> Iterator[Statement]:
    """Utterances of one intent say the same; one of the most similar of another does not."""
    intents = [key for key, texts in utterances.items() if key and len(set(texts)) > 1]
    everything = list(utterances)
    while True:
        intent = rng.choice(intents)
        phrase, same = rng.sample(sorted(set(utterances[intent])), 2)
        yield Statement(phrase, same, True, "intent", source)
        others = rng.sample(everything, min(_DRAWN, len(everything)))
        drawn = [rng.choice(utterances[other]) for other in others if other != intent]
        drawn = [text for text in drawn if text not in utterances[intent]]
        nearest = sorted(drawn, key=lambda text: (-_overlap(phrase, text), text))[:4]
        yield Statement(phrase, rng.choice(nearest), False, "near", source)


def _overlap(first: str, second: str) -> float:
    """Words in common, as a share of the shorter one's."""
    words = [set(text.lower().rstrip(".!?").split()) for text in (first, second)]
    return len(words[0] & words[1]) / max(1, min(map(len, words)))
