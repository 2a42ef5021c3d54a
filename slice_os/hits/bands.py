"""Bands of probability: what to make of a hit, in a word."""

from __future__ import annotations

from typing import Literal, TypeAlias

Band: TypeAlias = Literal["probable", "unsure", "unlikely"]

# Of the labelled hits in benchmarks/natural, .87 of the probable ones are right, one in three of
# the unsure ones, and one in 23 of the unlikely ones.
PROBABLE_FROM = 0.65
UNSURE_FROM = 0.15


def band_of(probability: float) -> Band:
    """The band of a probability, to the six decimals with which hits are written."""
    written = round(probability, 6)
    if written >= PROBABLE_FROM:
        return "probable"
    return "unsure" if written >= UNSURE_FROM else "unlikely"
