"""Phrases sampled at random from texts."""

from __future__ import annotations

from random import Random
from typing import Any

LONGEST = 20


def sample_span(
    words: int, rng: Random, shortest: int = 1, longest: int = LONGEST
) -> tuple[int, int]:
    """First word and one past the last of a random span; all lengths are equally likely.

    Args:
        words: number of words of the text.
        rng: source of randomness.
        shortest: fewest words of a span, if the text has as many.
        longest: most words of a span.
    """
    length = rng.randint(min(shortest, words), min(longest, words))
    begin = rng.randrange(words - length + 1)
    return begin, begin + length


def phrase(text: str, words: Any, begin: int, end: int) -> str:
    """The text of a span of words, given the offsets of all words."""
    return text[int(words[begin, 0]) : int(words[end - 1, 1])]
