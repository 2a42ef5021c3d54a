"""What is looked for: origin phrases, and the passages that may answer."""

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
    """One question to a store.

    Attributes:
        phrases: what is looked for.
        where: metadata fields and the values that each may have; all must hold.
        min_words: shortest span that counts.
        max_words: longest span that counts.
        calibration: gives hits their probability; None if there is none.
    """

    phrases: Phrases
    where: Where = field(default_factory=dict)
    min_words: int = 1
    max_words: int = 20
    calibration: Calibration | None = None
