"""Lists of words: opposites, words that tell the same from the other side, function words."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path

_PREFIXES = ("un", "in", "im", "ir", "il", "dis", "non-", "non", "mis")
_MOST_WORDS = 16_384
_ENDING = re.compile(r"(?:ies|es|s|ed|d|ing|ly)\Z")


@cache
def _table(name: str) -> dict[str, frozenset[str]]:
    """From each word to those on the other side of its lines."""
    found: dict[str, set[str]] = {}
    for line in _lines(name):
        left, right = (side.split() for side in line.split(" / "))
        for word in left:
            found.setdefault(word, set()).update(right)
        for word in right:
            found.setdefault(word, set()).update(left)
    return {word: frozenset(others) for word, others in found.items()}


def word_list(name: str) -> frozenset[str]:
    """The words of one list of ``words.txt``."""
    lines = (line.split() for line in _lines("words.txt"))
    return frozenset(word for first, *words in lines if first == f"{name}:" for word in words)


@lru_cache(_MOST_WORDS)
def opposite(first: str, second: str) -> bool:
    """Whether two words in lower case are opposites, by the list or by a prefix that denies."""
    if first == second:
        return False
    if _listed("opposites.txt", first, second):
        return True
    shorter, longer = sorted((first, second), key=len)
    return len(shorter) > 3 and any(longer == prefix + shorter for prefix in _PREFIXES)


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
    table = _table(name)
    return any(
        other in table.get(one, ())
        for one in {first, stem(first)}
        for other in {second, stem(second)}
    )


def _lines(name: str) -> list[str]:
    return Path(__file__).with_name(name).read_text("utf-8").splitlines()
