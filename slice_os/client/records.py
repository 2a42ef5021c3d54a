"""Types that the client takes and returns, besides those of the library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from slice_os.hits.hit import Hits
from slice_os.text.documents import Document, Scalar


class TopicTable(TypedDict, total=False):
    """A topic with the keys of its file; those that are missing have the usual value.

    Attributes:
        etag: of this version; a topic that is not stored yet has none.
        changes: after learning, how many hits it had ``before`` and has ``after``, with some that
            it ``gained`` and ``lost``; None if no store was named.
    """

    name: str
    description: str
    phrases: Sequence[str]
    counter_phrases: Sequence[str]
    where: Mapping[str, Any]
    threshold: float
    min_probability: float
    precision: float
    unit: str
    verifier: str
    must_match: Sequence[str]
    must_not_match: Sequence[str]
    learned: Mapping[str, Any]
    per: str
    all: Sequence[str | Mapping[str, Any]]
    any: Sequence[str | Mapping[str, Any]]
    none: Sequence[str | Mapping[str, Any]]
    etag: str
    changes: Mapping[str, Any] | None


class StoreRecord(TypedDict):
    """A store that the service has."""

    name: str
    kind: str
    documents: int
    passages: int
    pieces: int
    encoder: str
    min_probability: float | None
    threshold: float
    least_cosine: float
    unit: str
    fields: Mapping[str, str]


class FieldValue(TypedDict):
    """A value of a metadata field, and the number of documents that have it."""

    value: Scalar
    documents: int


@dataclass(frozen=True, slots=True)
class Estimating:
    """An estimate of what a topic finds and misses, or the way there.

    Of ``sampled`` passages, those are ``waiting`` that have no label, each by its nearest span, in
    random order. The estimate has the fields of `slice_os.estimates.recall.TopicEstimate`; it is
    None while passages wait.
    """

    sampled: int
    waiting: Hits
    estimate: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Tagged:
    """A document by its id, the names of its topics in order, and their hits."""

    id: str
    topics: tuple[str, ...]
    hits: Hits


@dataclass(frozen=True, slots=True)
class Highlights:
    """A document with its text and metadata, and the hits in it, in the order of the text."""

    document: Document
    hits: Hits
