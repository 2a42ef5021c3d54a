"""Queries: origin phrases, and the filter on passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from slice_os.arrays import FloatArray
from slice_os.calibration import Calibration

Where: TypeAlias = Mapping[str, Sequence[str]]


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
        where: metadata fields and the values that each may have; all fields must match.
        min_words: words in the shortest span that counts.
        max_words: words in the longest span that counts.
        calibration: computes the probability of hits; None if the model has none.
    """

    phrases: Phrases
    where: Where = field(default_factory=dict)
    min_words: int = 1
    max_words: int = 20
    calibration: Calibration | None = None
