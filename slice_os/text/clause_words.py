"""Words that shape a clause: verbs, denials, conditions, and words that ask for more."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files


def _word_lists() -> dict[str, frozenset[str]]:
    lines = (files(__package__) / "clause_words.txt").read_text("utf-8").splitlines()
    named = (line.split(": ") for line in lines)
    return {name: frozenset(words.split()) for name, words in named}


WORDS = _word_lists()
"""The lists of ``clause_words.txt``, by name."""
_VERBS, NOMINATIVES = WORDS["verbs"], WORDS["nominatives"]
_DETERMINERS, PREPOSITIONS = WORDS["determiners"], WORDS["prepositions"]
COORDINATORS, SUBORDINATORS = WORDS["coordinators"], WORDS["subordinators"]
RELATIVES, QUESTIONS = WORDS["relatives"], WORDS["questions"]
OPEN = PREPOSITIONS | _DETERMINERS | COORDINATORS | RELATIVES | WORDS["conditions"]
OPEN |= {"that", "respective", "also", "even", "being"}
"""After these, something has to follow."""
_NO_VERB = OPEN | {"please"}
_OBJECTS = _DETERMINERS | {"me", "us", "it", "him", "them"}
_INTERRUPTING = COORDINATORS | SUBORDINATORS | RELATIVES | {"that"}
# Nearly those of `slice_os.text.words`, without numpy, which a client does not have.
_WORD = re.compile(r"[^\W_]+(?:['’\-/&][^\W_]+)*")
_CONTRACTED = re.compile(r"(?:i|we|you|they|he|she|it|that|there|who|what)'(?:m|re|s|ll|ve|d)")


@dataclass(frozen=True, slots=True)
class Meaning:
    """Demands on words that say a phrase, as the phrase itself.

    Attributes:
        verb: whether it says what somebody does, or tells somebody to do it.
        denied: whether it denies something.
        conditions: its words such as "if" and "unless".
    """

    verb: bool
    denied: bool
    conditions: frozenset[str]


@lru_cache(maxsize=1_024)
def meaning_of(phrase: str) -> Meaning:
    """The demands of a phrase on words that say it."""
    names = _names(phrase)
    return Meaning(_is_clause(names), denies(names), WORDS["conditions"].intersection(names))


def is_clause(text: str) -> bool:
    """Whether a text says what somebody does, or tells somebody to do it."""
    return _is_clause(_names(text))


def verbs(names: Sequence[str]) -> list[bool]:
    """Which words are finite verbs, as far as they tell."""
    return [
        name in _VERBS
        or ("'" in name and bool(_CONTRACTED.fullmatch(name)))
        or (at > 0 and names[at - 1] in NOMINATIVES and name.isalpha() and name not in _NO_VERB)
        for at, name in enumerate(names)
    ]


def takes_object(names: Sequence[str]) -> bool:
    """Whether the first of two words is a verb, as its object begins behind it."""
    if len(names) < 2 or names[0] in OPEN or names[0].endswith(("ing", "ly")):
        return False
    return names[0].isalpha() and names[1] in _OBJECTS


def _commands(names: Sequence[str]) -> bool:
    """Whether a phrase tells somebody to do something."""
    skipped = 0
    while names[skipped : skipped + 1] and names[skipped] in ("please", "not", "never", "to"):
        skipped += 1
    return skipped < len(names) and (skipped > 0 or takes_object(names[:2]))


def denies(names: Sequence[str]) -> bool:
    """Whether there is a word such as "not", "no" or "won't"."""
    return any(name in WORDS["denials"] or name.endswith("n't") for name in names)


def interrupts(name: str) -> bool:
    """Whether a subject ends before a word, if its verb did not come."""
    return name in _INTERRUPTING


def _is_clause(names: Sequence[str]) -> bool:
    return any(verbs(names)) or _commands(names)


def _names(text: str) -> list[str]:
    return [plain(word) for word in _WORD.findall(text)]


def plain(word: str) -> str:
    """A word as the lists have it."""
    return word.casefold().replace("’", "'")
