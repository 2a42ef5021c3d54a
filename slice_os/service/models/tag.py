"""Requests and answers of tagging."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from slice_os.service.models.base import Body
from slice_os.service.models.documents import DocumentBody
from slice_os.service.models.search import HitAnswer
from slice_os.service.models.topics import Name
from slice_os.service.settings import MOST_TEXTS


class TagRequest(Body):
    """Texts, and the topics to look for.

    Attributes:
        documents: the texts; nothing is stored.
        topics: names; null for all topics of the service.
        exclusive: words count for the nearest topic alone.
        verify: whether the verifier reads the hits; by default if it knows the model.
    """

    documents: Annotated[list[DocumentBody], Field(max_length=MOST_TEXTS)]
    topics: list[Name] | None = None
    exclusive: bool = False
    verify: bool | None = None


class TaggedText(BaseModel):
    """The topics of a text.

    Attributes:
        id: of the document, if it was given.
        topics: their names, in order.
        hits: of the topics.
    """

    id: str | None
    topics: list[str]
    hits: list[HitAnswer]  # type: ignore[valid-type]


class TagAnswer(BaseModel):
    """The topics of texts, in the order of the request.

    Attributes:
        documents: one for each.
    """

    documents: list[TaggedText]
