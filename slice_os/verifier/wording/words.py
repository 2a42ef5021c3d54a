"""English words: irregular verbs, opposites, converses, and the lists of ``words.txt``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import product
from pathlib import Path


def _lines(name: str) -> list[str]:
    return Path(__file__).with_name(name).read_text("utf-8").splitlines()


FORMS = {
    base: (past, participle)
    for base, past, participle in map(str.split, _lines("irregular_verbs.txt"))
}
"""Irregular verbs with their past tense and past participle."""

PARTICIPLE = rf"(?:\w+ed|{'|'.join(sorted({participle for _, participle in FORMS.values()}))})"
"""A pattern of a past participle in lower case, and of some other words in -ed."""

_PASTS = frozenset(form for forms in FORMS.values() for form in forms) - FORMS.keys()


def is_past(word: str) -> bool:
    """Whether a word looks like a past tense or a past participle."""
    return word in _PASTS or (word.endswith("ed") and len(word) > 4)


_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non-", "non", "mis")
_MOST_WORDS = 16_384
_ENDING = re.compile(r"(?:ies|es|s|ed|d|ing|ly)\Z")


@cache
def _table(name: str) -> dict[str, frozenset[str]]:
    """From each word to those on the other side of its lines."""
    found: dict[str, set[str]] = {}
    for line in _lines(name):
        left, right = (side.split() for side in line.split(" / "))
        for word, others in [*product(left, [right]), *product(right, [left])]:
            found.setdefault(word, set()).update(others)
    return {word: frozenset(each) for word, each in found.items()}


def word_list(name: str) -> frozenset[str]:
    """The words of one list of ``words.txt``."""
    lines = (line.split() for line in _lines("words.txt"))
    return frozenset(word for first, *words in lines if first == f"{name}:" for word in words)


def read_patterns(name: str) -> dict[str, re.Pattern[str]]:
    """The patterns of a file by name; ``cues.txt`` explains its form."""
    listed: dict[str, list[str]] = {}
    for line in filter(None, _lines(name)):
        if line.startswith("["):
            parts = listed[line[1:-1]] = []
        elif not line.startswith("#"):
            parts.append(line)
    found = {}
    for key, parts in listed.items():
        words = "|".join(part for part in parts if not part.startswith("|"))
        others = "".join(part for part in parts if part.startswith("|"))
        found[key] = re.compile(rf"\b(?:{words})\b{others}")
    return found


@lru_cache(_MOST_WORDS)
def opposite(first: str, second: str) -> bool:
    """Whether two words in lower case are opposites, by the list or by a prefix that denies."""
    if first == second:
        return False
    if _listed("opposites.txt", first, second):
        return True
    shorter, longer = sorted((first, second), key=len)
    return len(shorter) > 3 and longer.endswith(shorter) and longer[: -len(shorter)] in _PREFIXES


@lru_cache(_MOST_WORDS)
def converse(first: str, second: str) -> bool:
    """Whether two words tell the same with the parties exchanged, as "buy" and "sell"."""
    return first != second and _listed("converses.txt", first, second)


@lru_cache(_MOST_WORDS)
def stem(word: str) -> str:
    """A word without its regular ending."""
    cut = _ENDING.sub("", word)
    return cut if len(cut) > 2 else word


def _listed(name: str, first: str, second: str) -> bool:
    others = _other_side(name, first)
    return second in others or (bool(others) and stem(second) in others)


@lru_cache(_MOST_WORDS)
def _other_side(name: str, word: str) -> frozenset[str]:
    table = _table(name)
    return table.get(word, frozenset()) | table.get(stem(word), frozenset())


_STATES = "|".join(sorted(word_list("states")))
CUES: Mapping[str, re.Pattern[str]] = {
    **read_patterns("cues.txt"),
    "perfect": re.compile(rf"(?:\b(?:have|has)|['’]ve)\b (?:\w+ly |already |just )?{PARTICIPLE}\b"),
    "passive": re.compile(
        r"(?:\b(?:am|is|are|was|were|be|been|being|got|gets?)|['’](?:m|re))\b"
        r"(?: (?:\w+ly|not|also|now|just|already|both|never|always|all))*"
        rf" (?!(?:{_STATES})\b){PARTICIPLE}\b"
    ),
}
"""Patterns of the cues that are looked for, in lower case."""
