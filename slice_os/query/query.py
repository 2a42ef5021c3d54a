"""Queries: origin phrases, and the filter on passages."""

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
    """Origin phrases and their unit vectors.

    Attributes:
        texts: the phrases.
        vectors: ``(n_phrases, dimension)`` unit rows.
    """

    texts: tuple[str, ...]
    vectors: FloatArray


@dataclass(frozen=True, slots=True)
class Query:
    """What to look for in a store.

    Attributes:
        phrases: the origin phrases.
        where: conditions on metadata fields; all of them must hold.
        min_words: words in the shortest span that counts.
        max_words: words in the longest span that counts.
        calibration: computes the probability of hits; None if the model has none.
        unit: how wide hits are; one of `slice_os.query.options.UNITS`.
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
