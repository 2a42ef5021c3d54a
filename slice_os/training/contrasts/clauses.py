"""Clauses: a subject and a predicate, put into every form that a mode of speech has."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from slice_os.training.contrasts.modes import MODES
from slice_os.verifier.wording.verbs import gerund, participle, past, third

_PLACE = re.compile(r"\{(?P<name>\w+)(?::(?P<verb>\w+))?\}")
_CONTRACTED = {
    "am not": "'m not",
    "will not": "won't",
    "can not": "can't",
    "do not": "don't",
    "does not": "doesn't",
    "did not": "didn't",
    "is not": "isn't",
    "are not": "aren't",
    "was not": "wasn't",
    "were not": "weren't",
    "has not": "hasn't",
    "have not": "haven't",
}


@dataclass(frozen=True, slots=True)
class Party:
    """Somebody who takes part in what a clause tells.

    Attributes:
        subject: the party as a subject: ``she``, ``the landlord``.
        object: elsewhere: ``her``, ``the landlord``.
        number: ``singular``, ``plural`` (also ``you``), or ``first`` for ``I``.
    """

    subject: str
    object: str
    number: str = "singular"


@dataclass(frozen=True, slots=True)
class Clause:
    """A subject, a verb in its base form (``be`` for passives and adjectives), and the rest."""

    subject: Party
    verb: str
    rest: str

    def form(self, mode: str, rng: Random) -> str:
        """The clause in one of the wordings of a mode; see `MODES`."""
        return self.fill(rng.choice(MODES[mode]))

    def fill(self, template: str) -> str:
        """The clause in one wording; `MODES` explains the names in it."""
        filled = _PLACE.sub(lambda found: self._named(found["name"], found["verb"] or ""), template)
        return filled.replace(" 'm", "'m").strip()

    def _named(self, name: str, verb: str) -> str:
        if name in ("S", "O"):
            return self.subject.subject if name == "S" else self.subject.object
        if name == "pres":
            return self._present(verb) if verb else self._joined(self._present(self.verb))
        if name == "past":
            return self._past(verb) if verb else self._joined(self._past(self.verb))
        if name == "base":
            return self._joined(self.verb)
        if name == "part":
            return self._joined(participle(self.verb))
        if name == "ger":
            return self._joined(gerund(self.verb))
        tense, _, what = name.partition("_")
        return self._finite(tense, what)

    def _finite(self, tense: str, what: str) -> str:
        """A negative form, or a question: ``past_not``, ``pres_nt``, ``past_never``, ``pres_q``."""
        copula = self.verb == "be"
        inflect = self._past if tense == "past" else self._present
        auxiliary = inflect("be" if copula else "do")
        rest = self.rest if copula else self._joined(self.verb)
        if what == "never":
            return (
                f"{auxiliary} never {rest}"
                if copula
                else f"never {self._joined(inflect(self.verb))}"
            )
        if what == "q":
            return f"{auxiliary} {self.subject.subject} {rest}".strip()
        negated = f"{auxiliary} not"
        if what == "nt":
            negated = _CONTRACTED[negated]
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
