"""Labels: people's judgements of hits, from which topics learn, and how far they agree."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import Query, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from slice_os.estimates.agreement import Agreement, agreement, disputes
from slice_os.labels.label import Label, LabelEntry, Origin, label_of
from slice_os.service.asgi.problems import Problem
from slice_os.service.resources.bodies import WHOLE, AnyText, Body, Many, Resource, answer_of
from slice_os.service.resources.topics import Filled, Name
from slice_os.service.services import Services, Shared
from slice_os.service.settings import LONGEST_PHRASE
from slice_os.topics.reviewing import origin_of, requirements

router = Resource("labels", lane="files")

Offset = Annotated[int, Field(ge=0, lt=2**53), WHOLE]
ShortText = Annotated[AnyText, Field(max_length=LONGEST_PHRASE)]
Reader = Annotated[str, Field(max_length=100)]
MOST_LABELS, LONGEST_PASSAGE = 1_000, 1_000_000


class LabelledWords(Body):
    """Words that a label is about.

    Attributes:
        topic: name of the topic.
        doc_id: their document; empty if they come from nowhere.
        start: first code point in the document.
        end: one past the last; by default the length of the text.
        text: the words.
        reader: name of who answers; that of the key, if one was sent: no other is admitted then.
        settled: whether the answer ends a disagreement of readers.
    """

    topic: Name
    doc_id: ShortText = ""
    start: Offset = 0
    end: Offset | None = None
    text: Filled
    reader: Reader = ""
    settled: bool = False


class Passage(Body):
    """The passage around some words: code points ``start:end`` of the document."""

    start: Offset
    end: Offset
    text: Annotated[AnyText, Field(max_length=LONGEST_PASSAGE)]


class OriginBody(Body):
    """What found a hit: see `slice_os.labels.label.Origin`."""

    model: ShortText
    model_hash: ShortText
    store: ShortText
    version: ShortText
    threshold: float | None = None
    min_probability: float | None = None


class LabelBody(LabelledWords):
    """A label: whether some words are a hit of a topic.

    Attributes:
        label: whether they are.
        passage: around them; the encoder then reads them in it.
        date: when it was given, in UTC; by default now.
        origin: what found the hit; by default the store, if the request names one.
        speaker: who says the words, if it is known.
    """

    label: bool
    passage: Passage | None = None
    date: Annotated[str, Field(max_length=40)] = ""
    origin: OriginBody | None = None
    speaker: ShortText = ""


class NewLabels(Body):
    """Labels to add, in the order in which they were given.

    Attributes:
        labels: at most 1,000.
        store: that their hits are from; may be missing.
    """

    store: str | None = None
    labels: Annotated[Many[LabelBody], Field(max_length=MOST_LABELS)]


class Added(BaseModel):
    """The number of labels that were added."""

    added: int


LabelAnswer = answer_of(Label, "right", sparse=True, number=int, label=bool)


class LabelList(BaseModel):
    """Labels in the order in which they were given.

    Attributes:
        labels: some of them.
        next: value of ``after`` for the next ones; null if there are no more.
    """

    labels: list[LabelAnswer]  # type: ignore[valid-type]
    next: int | None


class AgreementList(BaseModel):
    """How far readers agree, by topic; see `slice_os.estimates.agreement.Agreement`."""

    topics: list[Agreement]


class DisputeList(BaseModel):
    """Each reader's answer about the hits on which readers disagree, and that are not settled."""

    hits: list[list[LabelAnswer]]  # type: ignore[valid-type]


@router.get("/labels", response_model=LabelList)
def labels(
    services: Shared,
    topic: Name | None = None,
    reader: Reader | None = None,
    after: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_LABELS)] = 100,
) -> dict[str, Any]:
    """The labels that hold, one for the same words, in the order in which they were given.

    For a reader, these are the reader's own labels alone.
    """
    journal = services.labels
    found = [
        answer
        for answer in (journal.read() if reader is None else journal.of_all_readers())
        if answer.number > after and topic in (None, answer.label.topic)
        if reader is None or (answer.label.reader == reader and not answer.label.settled)
    ]
    shown = found[:limit]
    return {
        "labels": list(map(_row, shown)),
        "next": shown[-1].number if len(found) > limit else None,
    }


@router.get("/agreement", response_model=AgreementList)
def agreed(services: Shared, topic: Name | None = None) -> dict[str, Any]:
    """How far readers agree on the hits of a topic, or of each."""
    found = agreement(services.labels.of_all_readers())
    return {"topics": [one for one in found if topic in (None, one.topic)]}


@router.get("/disputes", response_model=DisputeList)
def disputed(services: Shared, topic: Name | None = None) -> dict[str, Any]:
    """The hits of a topic, or of all, on which readers disagree, to settle by a label."""
    found = (hit.answers for hit in disputes(services.labels.of_all_readers()))
    asked = [some for some in found if topic in (None, some[0].label.topic)]
    return {"hits": [list(map(_row, some)) for some in asked]}


@router.post("/labels", response_model=Added)
def add(services: Shared, request: Request, body: NewLabels) -> dict[str, int]:
    """Add labels. When the answer comes, they are on the disk."""
    rows = [label.model_dump(exclude_none=True) for label in body.labels]
    added = [label_of(row, f"labels.{number}") for number, row in enumerate(rows)]
    origins = _origins(services, body.store, {label.topic for label in added})

    def whole(label: Label) -> Label:
        origin = label.origin or origins.get(label.topic)
        return replace(label, reader=_reader(request, label.reader), origin=origin)

    services.labels.add(list(map(whole, added)))
    return {"added": len(added)}


@router.delete("/labels", status_code=204)
def take_back(services: Shared, request: Request, body: LabelledWords) -> Response:
    """Take back the reader's last label of some words; the one before it is then the last."""
    row = body.model_dump(exclude_none=True) | {"label": False}
    label = label_of(row | {"reader": _reader(request, body.reader)}, "label")
    if not services.labels.take_back([label]):
        raise Problem(404, "no_such_label", f"no label of topic {label.topic!r} on these words")
    return Response(status_code=204)


def _row(answer: LabelEntry) -> dict[str, Any]:
    return {"number": answer.number, **answer.label.to_row()}


def _reader(request: Request, given: str) -> str:
    """The reader who answers; with a key, the one whom it names. A Problem, 403, for another."""
    key: str | None = getattr(request.state, "key", None)
    if key is not None and given not in ("", key):
        message = f"the key of {key} answers as {key} alone; give that reader, or none"
        raise Problem(403, "not_allowed", message)
    return key or given


def _origins(services: Services, store: str | None, names: set[str]) -> dict[str, Origin]:
    """The origin of hits of topics in a store; none without a store, or for unknown topics."""
    if store is None:
        return {}
    corpus = services.stores.get(store)
    known = [topic for topic in services.work.known_topics() if topic.name in names]
    needs = requirements(corpus, known)
    return {name: origin_of(corpus, one) for name, one in needs.items()}
