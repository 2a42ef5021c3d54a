"""Phrases drawn at random from texts."""

from __future__ import annotations

from random import Random
from typing import Any

LONGEST = 20


def sample_span(
    words: int, rng: Random, shortest: int = 1, longest: int = LONGEST
) -> tuple[int, int]:
    """First word and one past the last of a span, each length as likely as any other.

    Args:
        words: of the text.
        rng: what it is drawn by.
        shortest: words of a span, where the text has as many.
        longest: the same.
    """
    length = rng.randint(min(shortest, words), min(longest, words))
    begin = rng.randrange(words - length + 1)
    return begin, begin + length


def phrase(text: str, words: Any, begin: int, end: int) -> str:
    """The characters of a span, by the table of the text's words."""
    return text[int(words[begin, 0]) : int(words[end - 1, 1])]
