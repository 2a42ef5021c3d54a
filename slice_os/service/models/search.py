"""Requests and answers that have hits."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, create_model

from slice_os.hits.hit import Hit
from slice_os.query.options import MAX_CANDIDATES, NUM_CANDIDATES
from slice_os.service.models.base import WHOLE, Body, Filters, PhraseList, StoreName, Text
from slice_os.service.models.documents import DocumentAnswer, DocumentBody
from slice_os.service.settings import MOST_HITS, MOST_PHRASES, MOST_TEXTS
from slice_os.tables.fields import type_hints

Cosine = Annotated[float, Field(ge=-1, le=1)]
Probability = Annotated[float, Field(ge=0, le=1)]
Unit = Literal["span", "clause", "sentence", "turn"]
TopicNames = Annotated[list[Text], Field(min_length=1, max_length=MOST_PHRASES)]


def _hit_answer() -> type[BaseModel]:
    """The JSON of a hit, as `Hit.to_dict` gives it, with the types that the library declares."""
    names = {"context": "passage"}
    hints = {names.get(name, name): hint for name, hint in type_hints(Hit).items()}
    fields: dict[str, Any] = {name: (hint, ...) for name, hint in hints.items()}
    return create_model("Hit", __doc__="A span that paraphrases an origin phrase.", **fields)


HitAnswer = _hit_answer()


class Width(Body):
    """How hits are read and shown.

    Attributes:
        verify: whether the verifier reads the hits; null to let the service choose.
        unit: how wide hits are.
    """

    verify: bool | None = None
    unit: Unit = "span"


class Wanted(Width):
    """What is looked for, and which hits count.

    Attributes:
        phrases: one phrase, or several that mean the same.
        counter_phrases: hits whose words are nearer to one of these are left out.
        threshold: least cosine of a hit; mining has the model's own by default.
        min_probability: least probability of a hit.
    """

    phrases: PhraseList
    counter_phrases: Annotated[list[Text], Field(max_length=MOST_PHRASES)] = Field(
        default_factory=list
    )
    threshold: Cosine | None = None
    min_probability: Probability | None = None


class SearchRequest(Wanted):
    """A search; see `slice_os.Corpus.search`.

    Attributes:
        store: its name; may be missing if one store is served.
        top_k: number of hits.
        offset: hits to skip, for the next page.
        where: conditions on metadata.
        fusion: how cosine and BM25 make a score.
        num_candidates: passages that an index proposes.
        per_passage: most hits of a passage.
        order: by score or by probability.
        collapse: show hits in the same words as one, with their count.
    """

    store: StoreName = None
    top_k: Annotated[int, Field(ge=0, le=MOST_HITS), WHOLE] = 10
    offset: Annotated[int, Field(ge=0, le=MAX_CANDIDATES), WHOLE] = 0
    where: Filters = None
    fusion: Literal["convex", "rrf", "cosine", "server"] = "convex"
    num_candidates: Annotated[int, Field(ge=1, le=MAX_CANDIDATES), WHOLE] = NUM_CANDIDATES
    per_passage: Annotated[int, Field(ge=1, le=MOST_HITS), WHOLE] = 1
    order: Literal["score", "probability"] | None = None
    collapse: bool = False


class PhraseHighlights(Wanted):
    """What is marked in a document: hits of phrases.

    Attributes:
        store: its name; may be missing if one store is served.
    """

    store: StoreName = None


class TopicHighlights(Width):
    """What is marked in a document: hits of topics, each with its own threshold.

    Attributes:
        store: its name; may be missing if one store is served.
        topics: their names.
    """

    store: StoreName = None
    topics: TopicNames


class PhraseMining(PhraseHighlights):
    """Mining a store for phrases; see `slice_os.Corpus.mine`.

    Attributes:
        where: conditions on metadata.
        limit: hits after which mining ends; null for all.
    """

    where: Filters = None
    limit: Annotated[int, Field(ge=1), WHOLE] | None = None


class TopicMining(TopicHighlights):
    """Mining a store for topics, each with its own threshold.

    Attributes:
        where: conditions on metadata, besides those of the topics.
        limit: hits after which mining ends; null for all.
    """

    where: Filters = None
    limit: Annotated[int, Field(ge=1), WHOLE] | None = None


class ScanRequest(Wanted):
    """Documents that are searched without being stored; see `slice_os.scan`.

    Attributes:
        documents: those without an id are called by their position, from 0.
    """

    documents: Annotated[list[DocumentBody], Field(max_length=MOST_TEXTS)]


class HitsAnswer(BaseModel):
    """Hits in the order of the documents.

    Attributes:
        hits: all of them.
    """

    hits: list[HitAnswer]  # type: ignore[valid-type]


class HighlightsAnswer(DocumentAnswer, HitsAnswer):
    """A document and the hits in it."""


class SearchAnswer(HitsAnswer):
    """Hits of a search, the best first.

    Attributes:
        threshold: least cosine that they were selected with; null for any.
        min_probability: least probability; null for any.
        exhaustive: whether every passage was scored.
        milliseconds: that the search took.
    """

    threshold: float | None
    min_probability: float | None
    exhaustive: bool
    milliseconds: float
