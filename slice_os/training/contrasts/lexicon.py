"""The lexicon of frames: relations of parties, many ways to say each, and their opposites."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from slice_os.training.contrasts.clauses import Clause, Party
from slice_os.verifier.wording.verbs import participle

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

LEXICON = Path(__file__).with_name("lexicon.toml")

_PRONOUNS = {
    "I": Party("I", "me", "first"),
    "we": Party("we", "us", "plural"),
    "you": Party("you", "you", "plural"),
    "they": Party("they", "them", "plural"),
    "he": Party("he", "him"),
    "she": Party("she", "her"),
}


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation of two parties.

    Attributes:
        among: the lists of parties that it fits.
        themes: what it is about; one of them is put for T.
        says: patterns that say the same.
        opposed: patterns that say another thing of the same parties; may be empty.
        symmetric: whether the parties may change places.
    """

    among: tuple[str, ...]
    themes: tuple[str, ...]
    says: tuple[str, ...]
    opposed: tuple[str, ...] = ()
    symmetric: bool = False


@dataclass(frozen=True, slots=True)
class State:
    """A state of one subject, and its opposite.

    Attributes:
        of: subjects.
        says: predicates that say the same.
        opposed: predicates that say the other thing.
        exact: whether to deny one is to say the other.
    """

    of: tuple[str, ...]
    says: tuple[str, ...]
    opposed: tuple[str, ...]
    exact: bool


@dataclass(frozen=True, slots=True)
class Amounts:
    """Wordings of amounts.

    Attributes:
        adjuncts: phrases with a place ``{n}`` for a number.
        same: pairs of phrases for one amount.
        bounds: pairs of opposite bounds.
        bounded: phrases with a place ``{b}`` for a bound and ``{n}`` for a number.
        same_bounds: pairs of wordings of one bound.
        units: what they count.
    """

    adjuncts: tuple[str, ...]
    same: tuple[tuple[str, str], ...]
    bounds: tuple[tuple[str, str], ...]
    bounded: tuple[str, ...]
    same_bounds: tuple[tuple[str, str], ...]
    units: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Parties by list, relations, states, amounts, and pairs of words to swap by contrast."""

    parties: dict[str, tuple[str, ...]]
    relations: tuple[Relation, ...]
    states: tuple[State, ...]
    amounts: Amounts
    swaps: dict[str, tuple[tuple[str, str], ...]]


@cache
def lexicon() -> Lexicon:
    """The lexicon of the package."""
    raw = _frozen(tomllib.loads(LEXICON.read_text("utf-8")))
    return Lexicon(
        raw["parties"],
        tuple(Relation(**{"themes": (), **one}) for one in raw["relations"]),
        tuple(State(**one) for one in raw["states"]),
        Amounts(**raw["amounts"]),
        {name: tuple(swaps) for name, swaps in raw["swaps"].items()},
    )


def party(name: str) -> Party:
    """A party by its name or pronoun; a name whose last word ends in "s" is a plural."""
    last = name.rsplit(" ", 1)[-1]
    plural = last.endswith("s") and not last.endswith(("ss", "us")) and last.islower()
    return _PRONOUNS.get(name) or Party(name, name, "plural" if plural else "singular")


def two_parties(relation: Relation, rng: Random) -> tuple[Party, Party]:
    """Two different parties that a relation fits; one of them may be a pronoun."""
    names = lexicon().parties[rng.choice(relation.among)]
    first, second = rng.sample(names, 2)
    if rng.random() < 0.3:
        first = rng.choice(lexicon().parties["pronouns"])
    elif rng.random() < 0.3:
        second = rng.choice(lexicon().parties["pronouns"])
    return (party(first), party(second)) if rng.random() < 0.5 else (party(second), party(first))


def clause(pattern: str, parties: dict[str, Party]) -> Clause:
    """The clause of a pattern such as ``T +sell to B by A``."""
    subject, verb, *rest = pattern.split()
    words = []
    for word in rest:
        bare = word.rstrip(",")
        if bare in parties:
            word = parties[bare].object + word[len(bare) :]
        elif bare.endswith("'s") and bare[:-2] in parties:
            word = possessive(parties[bare[:-2]])
        words.append(word)
    tail = " ".join(words)
    verb = verb.replace("_", " ")
    if verb.startswith("+"):
        return Clause(parties[subject], "be", f"{participle(verb[1:])} {tail}".strip())
    return Clause(parties[subject], verb, tail)


def possessive(owner: Party) -> str:
    """A party as an owner: ``Mary's``, ``her``."""
    pronouns = {"I": "my", "we": "our", "you": "your", "they": "their", "he": "his", "she": "her"}
    return pronouns.get(owner.subject) or owner.object + ("'" if owner.number == "plural" else "'s")


def _frozen(value: Any) -> Any:
    """A value of TOML, with tuples for its lists."""
    if isinstance(value, dict):
        return {name: _frozen(one) for name, one in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
