"""A match of a combined topic: its evidence, and what it lacks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from slice_os.hits.bands import Finding
from slice_os.hits.hit import Hit
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
        lacks = [(one["topic"], one["nearest"], one["finding"]) for one in raw["lacks"]]
        return cls(
            raw["topic"],
            raw["place"],
            tuple(raw["doc_ids"]),
            tuple(map(Hit.from_dict, raw["evidence"])),
            tuple(Lack(topic, near and Hit.from_dict(near), found) for topic, near, found in lacks),
            raw["metadata"],
            raw["turn"],
        )

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


Found: TypeAlias = Hit | Match
"""A hit of a topic, or a match of a combined one."""
