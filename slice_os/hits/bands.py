"""Bands of probability: what to make of a hit, in a word, and whether it counts at all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

Band: TypeAlias = Literal["probable", "unsure", "unlikely"]
Finding: TypeAlias = Literal["lacks", "unsure", "has"]
FINDINGS: tuple[Finding, ...] = ("lacks", "unsure", "has")

# The usual cut, everywhere: hits count from `UNSURE_FROM` on. Of the labelled hits in
# kinds of text that the verifier was not fitted to, .77 of the probable ones are right, .33 of the
# unsure ones, and one in 14 of the unlikely ones (benchmarks/blind_hits.py).
PROBABLE_FROM = 0.65
UNSURE_FROM = 0.15


def band_of(probability: float) -> Band:
    """The band of a probability, to the six decimals with which hits are written."""
    if reaches(probability, PROBABLE_FROM):
        return "probable"
    return "unsure" if reaches(probability, UNSURE_FROM) else "unlikely"


def rounded_down(probability: float, digits: int = 2) -> str:
    """A probability for people, rounded down, so that it never seems to reach a cut above it."""
    return f"{int(round(probability, 6) * 10**digits + 1e-6) / 10**digits:.{digits}f}"


def finding_of(hits: int, probability: float | None) -> Finding:
    """The finding for a text, by its hits that count, and by the probability of the nearest one.

    It has what is looked for if a hit counts and is probable, and lacks it if no hit counts and
    what comes nearest is unlikely; without a probability, whether a hit counts decides.
    """
    if probability is not None and band_of(probability) != ("probable" if hits else "unlikely"):
        return "unsure"
    return "has" if hits else "lacks"


def reaches(probability: float | None, least: float) -> bool:
    """Whether a probability, to six decimals, is at least another one; none at all is 0."""
    return round(probability or 0.0, 6) >= least


def anybody_says(bands: Iterable[Band | None]) -> bool:
    """Whether a hit is more than unlikely, or has no probability; false without a hit."""
    return any(band != "unlikely" for band in bands)
