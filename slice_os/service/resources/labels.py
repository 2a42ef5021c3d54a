"""Labels: people's judgements of hits, from which topics learn."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from slice_os.hits.hit import Context
from slice_os.service.asgi.problems import Problem
from slice_os.service.resources.bodies import WHOLE, Body, pooled
from slice_os.service.resources.topics import Filled, Name
from slice_os.service.services import Shared
from slice_os.topics.labels import label_of

router = APIRouter(tags=["labels"])

Offset = Annotated[int, Field(ge=0, lt=2**53), WHOLE]
MOST_LABELS = 1_000


class LabelledWords(Body):
    """Words that a label is about.

    Attributes:
        topic: name of the topic.
        doc_id: their document; empty if they come from nowhere.
        start: first code point in the document.
        end: one past the last; by default the length of the text.
        text: the words.
    """

    topic: Name
    doc_id: str = ""
    start: Offset = 0
    end: Offset | None = None
    text: Filled


class Passage(Body):
    """The passage around some words: code points ``start:end`` of the document."""

    start: Offset
    end: Offset
    text: str


class LabelBody(LabelledWords):
    """A label: whether some words are a hit of a topic.

    Attributes:
        label: whether they are.
        passage: around them; the encoder then reads them in it.
    """

    label: bool
    passage: Passage | None = None


class NewLabels(Body):
    """Labels to add, in the order in which they were given."""

    labels: Annotated[list[LabelBody], Field(max_length=MOST_LABELS)]


class Added(BaseModel):
    """The number of labels that were added."""

    added: int


class LabelAnswer(BaseModel):
    """The last label of a run of words.

    Attributes:
        number: of its line in the file of labels; a later answer has a higher one.
        topic: name of the topic.
        doc_id: the document; empty if the words come from nowhere.
        start: first code point in the document.
        end: one past the last.
        text: the words.
        label: whether they are a hit.
        passage: around them, if it is known.
    """

    number: int
    topic: str
    doc_id: str
    start: int
    end: int
    text: str
    label: bool
    passage: Context | None = None


class LabelList(BaseModel):
    """Labels in the order in which they were given.

    Attributes:
        labels: some of them.
        next: value of ``after`` for the next ones; null if there are no more.
    """

    labels: list[LabelAnswer]
    next: int | None


@router.get("/labels", response_model=LabelList)
@pooled("files")
def labels(
    services: Shared,
    topic: Name | None = None,
    after: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_LABELS)] = 100,
) -> dict[str, Any]:
    """The last label of each run of words, in the order in which they were given."""
    found = [
        answer
        for answer in services.labels.read()
        if answer.number > after and topic in (None, answer.label.topic)
    ]
    shown = found[:limit]
    rows = [{"number": each.number, **each.label.to_row()} for each in shown]
    return {"labels": rows, "next": shown[-1].number if len(found) > limit else None}


@router.post("/labels", response_model=Added)
@pooled("files")
def add(services: Shared, body: NewLabels) -> dict[str, int]:
    """Add labels. When the answer comes, they are on the disk."""
    rows = [label.model_dump(exclude_none=True) for label in body.labels]
    added = [label_of(row, f"labels.{number}") for number, row in enumerate(rows)]
    services.labels.add(added)
    return {"added": len(added)}


@router.delete("/labels", status_code=204)
@pooled("files")
def take_back(services: Shared, body: LabelledWords) -> Response:
    """Take back the last label of some words; the one before it is then the last."""
    label = label_of({**body.model_dump(exclude_none=True), "label": False}, "label")
    if services.labels.take_back(label.key) is None:
        raise Problem(404, "no_such_label", f"no label of topic {label.topic!r} on these words")
    return Response(status_code=204)
