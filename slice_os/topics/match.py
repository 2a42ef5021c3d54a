"""Findings of topics: matches of combined ones, results of examples, and near misses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from slice_os.hits.bands import Finding
from slice_os.hits.hit import Hit
from slice_os.records import record
from slice_os.text.documents import Metadata


@dataclass(frozen=True, slots=True)
class Lack:
    """A topic that a text was to lack, and does.

    Attributes:
        nearest: what comes nearest: the likeliest hit of the topic that does not count, because of
            its place or its probability; None if nothing is near.
        finding: ``lacks``, or ``unsure`` if a hit fails for its probability that is not unlikely.
    """

    topic: str
    nearest: Hit | None = None
    finding: Finding = "lacks"

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain JSON types."""
        near = self.nearest and self.nearest.to_dict()
        return {"topic": self.topic, "finding": self.finding, "nearest": near}


@dataclass(frozen=True, slots=True)
class Match:
    """A text that a combined topic describes.

    Attributes:
        topic: the combined topic.
        place: the document, or the value of the field, that matches.
        doc_ids: the documents of the match, those with evidence first.
        evidence: the hits by which it matches, by document and position.
        lacks: what it was to lack.
        metadata: of its first document.
        turn: where the turn that matches begins; None if it is not a turn that matches.
    """

    topic: str
    place: str
    doc_ids: tuple[str, ...]
    evidence: tuple[Hit, ...]
    lacks: tuple[Lack, ...]
    metadata: Metadata = field(default_factory=dict)
    turn: int | None = None

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Match:
        """The match that `to_dict` gave."""
        return record(cls, raw)

    @property
    def doc_id(self) -> str:
        """Its first document."""
        return self.doc_ids[0]

    @property
    def text(self) -> str:
        """The words of the evidence, one hit a line."""
        return "\n".join(hit.text for hit in self.evidence)

    def to_dict(self) -> dict[str, Any]:
        """The match as plain JSON types."""
        return {
            "topic": self.topic,
            "place": self.place,
            "doc_ids": list(self.doc_ids),
            "turn": self.turn,
            "evidence": [hit.to_dict() for hit in self.evidence],
            "lacks": [lack.to_dict() for lack in self.lacks],
            "metadata": dict(self.metadata),
        }


@dataclass(frozen=True, slots=True)
class Case:
    """An example of a topic, and its result.

    Attributes:
        text: the example.
        expected: whether it should match.
        passed: whether the result is as expected.
        hit: the nearest one, however far; None if there is no word.
        why: one line about it.
    """

    text: str
    expected: bool
    passed: bool
    hit: Hit | None
    why: str


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Near misses of a topic that say much the same: a candidate phrase or counter-phrase.

    Attributes:
        text: the clause of the one that represents them best.
        spans: number of them.
        documents: number of their documents.
        phrase: the nearest phrase of the topic.
        cosine: of the nearest of them.
        hits: all of them, or some, each as wide as its clause, the nearest first.
    """

    topic: str
    text: str
    spans: int
    documents: int
    phrase: str
    cosine: float
    hits: tuple[Hit, ...]


Found: TypeAlias = Hit | Match
"""A hit of a topic, or a match of a combined one."""
