"""Clauses: a subject and a predicate, put into every form that a mode of speech has."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from .inflection import gerund, participle, past, third
from .lexicon import Relation, lexicon

_PLACE = re.compile(r"\{(?P<name>\w+)(?::(?P<verb>\w+))?\}")


@dataclass(frozen=True, slots=True)
class Party:
    """Somebody who takes part in what a clause tells.

    Attributes:
        subject: the party as a subject: ``she``, ``the landlord``.
        object: elsewhere: ``her``, ``the landlord``.
        number: ``singular``, ``plural`` (also ``you``), or ``first`` for ``I``.
        owner: as a possessive pronoun: ``her``; empty for a name.
    """

    subject: str
    object: str
    number: str = "singular"
    owner: str = ""

    @property
    def possessive(self) -> str:
        """The party as an owner: ``Mary's``, ``her``."""
        return self.owner or self.object + ("'" if self.number == "plural" else "'s")


_PRONOUNS = {
    "I": Party("I", "me", "first", "my"),
    "we": Party("we", "us", "plural", "our"),
    "you": Party("you", "you", "plural", "your"),
    "they": Party("they", "them", "plural", "their"),
    "he": Party("he", "him", owner="his"),
    "she": Party("she", "her", owner="her"),
}


@dataclass(frozen=True, slots=True)
class Clause:
    """A subject, a verb in its base form (``be`` for passives and adjectives), and the rest."""

    subject: Party
    verb: str
    rest: str

    def form(self, mode: str, rng: Random) -> str:
        """The clause in one of the wordings of a mode; see `Lexicon`."""
        return self.fill(rng.choice(lexicon().modes[mode]))

    def fill(self, template: str) -> str:
        """The clause in one wording; the lexicon explains the names in it."""
        filled = _PLACE.sub(lambda found: self._named(found["name"], found["verb"]), template)
        return filled.replace(" 'm", "'m").strip()

    def _named(self, name: str, verb: str | None) -> str:
        if name in ("S", "O"):
            return self.subject.subject if name == "S" else self.subject.object
        tense, _, what = name.partition("_")
        if what:
            return self._finite(tense, what)
        if tense in ("pres", "past"):
            inflect = self._present if tense == "pres" else self._past
            return inflect(verb) if verb else self._joined(inflect(self.verb))
        if name == "base":
            return self._joined(self.verb)
        return self._joined((participle if name == "part" else gerund)(self.verb))

    def _finite(self, tense: str, what: str) -> str:
        """A negative form, or a question: ``past_not``, ``pres_nt``, ``past_never``, ``pres_q``."""
        copula = self.verb == "be"
        inflect = self._past if tense == "past" else self._present
        auxiliary = inflect("be" if copula else "do")
        rest = self.rest if copula else self._joined(self.verb)
        if what == "never":
            verb = f"{auxiliary} never" if copula else f"never {inflect(self.verb)}"
            return self._joined(verb)
        if what == "q":
            return f"{auxiliary} {self.subject.subject} {rest}".strip()
        if what == "not":
            negated = f"{auxiliary} not"
        else:
            negated = "'m not" if auxiliary == "am" else f"{auxiliary}n't"
        return f"{negated} {rest}".strip()

    def _present(self, verb: str) -> str:
        head, space, rest = verb.partition(" ")
        if head == "be":
            return {"first": "am", "plural": "are"}.get(self.subject.number, "is") + space + rest
        return third(verb) if self.subject.number == "singular" else verb

    def _past(self, verb: str) -> str:
        head, space, rest = verb.partition(" ")
        if head == "be":
            return ("were" if self.subject.number == "plural" else "was") + space + rest
        return past(verb)

    def _joined(self, form: str) -> str:
        return f"{form} {self.rest}".strip()


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
            word = parties[bare[:-2]].possessive
        words.append(word)
    tail = " ".join(words)
    verb = verb.replace("_", " ")
    if verb.startswith("+"):
        return Clause(parties[subject], "be", f"{participle(verb[1:])} {tail}".strip())
    return Clause(parties[subject], verb, tail)
