"""A document in a list that stands in place of hits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slice_os.hits.hit import Hit
from slice_os.records import record


@dataclass(frozen=True, slots=True)
class DocumentHits:
    """A document in a list.

    Attributes:
        hits: number of its hits, if these are counted.
        nearest: what comes nearest, if it has no hit and this is known.
    """

    doc_id: str
    hits: int | None = None
    nearest: Hit | None = None

    def to_dict(self) -> dict[str, Any]:
        """The known fields, as plain JSON types."""
        counted = {} if self.hits is None else {"hits": self.hits}
        near = {} if self.nearest is None else {"nearest": self.nearest.to_dict()}
        return {"doc_id": self.doc_id, **counted, **near}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> DocumentHits:
        """The document that `to_dict` gave."""
        return record(cls, raw)
