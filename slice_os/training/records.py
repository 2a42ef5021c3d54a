"""Records: what training data consist of, whatever file they came from."""

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
    """Two phrases and how alike they are, from 0 to 1; the second may be in a passage.

    Attributes:
        first: a phrase by itself.
        second: another.
        score: 0 to 1.
        passage: the text that contains ``second``, or just ``second``.
    """

    first: str
    second: str
    score: float
    passage: Passage


@dataclass(frozen=True, slots=True)
class Substitution:
    """A word in its sentence, and what can and cannot replace it.

    Attributes:
        text: the sentence.
        start: first code point of the word.
        end: one past its last.
        right: phrases that keep the meaning of the sentence.
        wrong: phrases that change it, such as synonyms of the word's other senses.
    """

    text: str
    start: int
    end: int
    right: tuple[str, ...]
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sense:
    """A word in its sentence, and what it means there and elsewhere.

    Attributes:
        text: the sentence.
        start: first code point of the word.
        end: one past its last.
        definition: what the word means here.
        others: what it means in its other senses.
    """

    text: str
    start: int
    end: int
    definition: str
    others: tuple[str, ...]


Record: TypeAlias = Passage | Triple | Pair | Substitution | Sense
