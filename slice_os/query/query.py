"""Queries: origin phrases and counter-phrases as vectors, and the filter on passages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from slice_os.arrays import FloatArray
from slice_os.encoder.calibration import Calibration
from slice_os.query.filters import Condition
from slice_os.query.options import SPAN

Where: TypeAlias = tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Phrases:
    """Origin phrases and their vectors: ``(n_phrases, dimension)`` unit rows."""

    texts: tuple[str, ...]
    vectors: FloatArray


@dataclass(frozen=True, slots=True)
class Query:
    """A search as stores and scorers need it.

    Attributes:
        phrases: the origin phrases.
        where: conditions on metadata fields; all of them must hold.
        min_words: of a span, as is ``max_words``.
        calibration: computes the probability of hits; None if the model has none.
        unit: width of hits; one of `slice_os.query.options.UNITS`.
        word_vectors: whether hits carry the vectors of their words, for a verifier.
        counters: ``(n_counter_phrases, dimension)`` unit rows: words that are nearer to one of
            them than to every phrase are no hit; None for none.
    """

    phrases: Phrases
    where: Where = ()
    min_words: int = 1
    max_words: int = 20
    calibration: Calibration | None = None
    unit: str = SPAN
    word_vectors: bool = False
    counters: FloatArray | None = None


def nearer_counter(phrases: FloatArray, counters: FloatArray) -> int | None:
    """The counter-phrase that words are nearest to; None if a phrase is at least as near.

    Both arguments are products of the words' vector with those of the phrases.
    """
    nearest = int(counters.argmax())
    return nearest if counters[nearest] > phrases.max() else None
