"""Records of training data, whatever file they came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Passage:
    """A text and, if ``start < end``, the phrase of interest in it (code points)."""

    text: str
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Triple:
    """A query, a passage that answers it and passages that do not."""

    query: str
    positive: str
    negatives: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two phrases and how alike they are, from 0 to 1; the passage contains the second."""

    first: str
    second: str
    score: float
    passage: Passage


@dataclass(frozen=True, slots=True)
class Substitution:
    """A word ``text[start:end]``, and phrases that can and cannot replace it."""

    text: str
    start: int
    end: int
    right: tuple[str, ...]
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sense:
    """A word ``text[start:end]``, its definition there, and those of its other senses."""

    text: str
    start: int
    end: int
    definition: str
    others: tuple[str, ...]


Record: TypeAlias = Passage | Triple | Pair | Substitution | Sense
