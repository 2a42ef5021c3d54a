"""The topics of texts that are not stored."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Annotated, Any

from pydantic import BaseModel, Field

from slice_os.hits.hit import Hit
from slice_os.service.resources.bodies import Body, Many, Resource
from slice_os.service.resources.documents import DocumentBody
from slice_os.service.resources.hits import HitsAnswer, named_topics
from slice_os.service.resources.topics import Name
from slice_os.service.services import Shared
from slice_os.service.settings import MOST_TEXTS
from slice_os.topics.run import TopicTagger

router = Resource("tag")

_tagger = lru_cache(8)(TopicTagger)  # so that phrases are not encoded again for every request


class TagRequest(Body):
    """Texts, and the topics to look for.

    Attributes:
        documents: the texts; nothing is stored.
        topics: names; null for all topics of the service.
        exclusive: whether words are a hit of the nearest topic only.
        verify: whether the verifier reads the hits; by default if it knows the model.
    """

    documents: Annotated[Many[DocumentBody], Field(max_length=MOST_TEXTS)]
    topics: Many[Name] | None = None
    exclusive: bool = False
    verify: bool | None = None


class TaggedText(HitsAnswer):
    """A text with its topics and their hits.

    Attributes:
        id: of the document, if it was given.
        topics: their names, in order.
    """

    id: str | None
    topics: list[str]


class TagAnswer(BaseModel):
    """The topics of texts, in the order of the request."""

    documents: list[TaggedText]


@router.post("/tag", response_model=TagAnswer)
def tag(services: Shared, body: TagRequest) -> dict[str, Any]:
    """Find the topics of texts, and their hits; nothing is stored."""
    topics = tuple(named_topics(services, body.topics))
    # Named by their positions, since several may have one id.
    documents = [
        replace(given.document("-"), id=str(number)) for number, given in enumerate(body.documents)
    ]
    hits: list[list[Hit]] = [[] for _ in documents]
    if topics:
        encoder, verifier = services.encoders.default(), services.settings.verifier
        tagger = _tagger(topics, encoder, body.exclusive, body.verify, verifier)
        for hit in tagger.scan(documents):
            hits[int(hit.doc_id)].append(hit)
    tagged = [
        {
            "id": given.id,
            "topics": sorted({hit.topic for hit in found if hit.topic}),
            "hits": [replace(hit, doc_id=given.id or "") for hit in found],
        }
        for given, found in zip(body.documents, hits, strict=True)
    ]
    return {"documents": tagged}
