"""What the client sends and returns besides the types of the library."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from slice_os.hits.hit import Hit, Hits
from slice_os.text.documents import Document, Scalar


class HitOptions(TypedDict, total=False):
    """Which hits count; see `Corpus.search`.

    Attributes:
        counter_phrases: hits whose words are nearer to one of them than to every phrase are out.
        threshold: least cosine of a hit.
        verify: whether the verifier reads the hits.
        min_probability: least probability of a hit.
        unit: how wide hits are: ``span``, ``clause``, ``sentence`` or ``turn``.
    """

    counter_phrases: Sequence[str]
    threshold: float | None
    verify: bool | None
    min_probability: float | None
    unit: str


class StoreOptions(HitOptions, total=False):
    """Which hits count, and in which store.

    Attributes:
        store: its name; may be missing if the service has one store.
    """

    store: str | None


class MineOptions(StoreOptions, total=False):
    """Which hits count, and how many of them.

    Attributes:
        where: conditions on metadata.
        limit: most hits; None for all of them.
    """

    where: Mapping[str, Any] | None
    limit: int | None


class SearchOptions(StoreOptions, total=False):
    """Which hits count, and in which order they come; see `Corpus.search`.

    Attributes:
        where: conditions on metadata.
        top_k: number of hits.
        offset: hits to skip.
        fusion: how cosine and BM25 make a score.
        num_candidates: passages that an index proposes.
        per_passage: most hits of a passage.
        order: ``score`` or ``probability``.
        collapse: show hits in the same words as one.
    """

    where: Mapping[str, Any] | None
    top_k: int
    offset: int
    fusion: str
    num_candidates: int
    per_passage: int
    order: str | None
    collapse: bool


class TopicTable(TypedDict, total=False):
    """A topic with the keys of its file; those that are missing have the usual value.

    Attributes:
        etag: tells this version from every other; a topic that is not stored yet has none.
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
    must_match: Sequence[str]
    must_not_match: Sequence[str]
    learned: Mapping[str, Any]
    etag: str


class StoreRecord(TypedDict):
    """A store that the service has."""

    name: str
    kind: str
    documents: int
    passages: int
    pieces: int
    encoder: str
    threshold: float
    fields: Mapping[str, str]


class FieldValue(TypedDict):
    """A value of a metadata field, and how many documents have it."""

    value: Scalar
    documents: int


@dataclass(frozen=True, slots=True)
class Case:
    """An example of a topic, and what came of it.

    Attributes:
        text: the example.
        expected: whether it should match.
        passed: whether it came out as it should.
        hit: the nearest one, however far; None if there is no word.
        why: one line about it.
    """

    text: str
    expected: bool
    passed: bool
    hit: Hit | None
    why: str


@dataclass(frozen=True, slots=True)
class NearMisses:
    """Near misses of a topic that say much the same: a phrase or a counter-phrase to be.

    Attributes:
        text: the one that represents them best.
        spans: number of them.
        documents: number of their documents.
        phrase: the nearest phrase of the topic.
        cosine: of the nearest of them.
        hits: the nearest of them.
    """

    text: str
    spans: int
    documents: int
    phrase: str
    cosine: float
    hits: Hits


@dataclass(frozen=True, slots=True)
class Tagged:
    """The topics of a text.

    Attributes:
        id: of the document.
        topics: their names, in order.
        hits: of the topics.
    """

    id: str
    topics: tuple[str, ...]
    hits: Hits


@dataclass(frozen=True, slots=True)
class Highlights:
    """A document, and the hits in it.

    Attributes:
        document: with its text and its metadata.
        hits: in the order of the text.
    """

    document: Document
    hits: Hits
