"""What documents have and lack of topics: matches of combined ones, and a matrix."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, Field

from slice_os.combinations.matching import components, match_topics, sound
from slice_os.errors import InputError
from slice_os.hits.document_hits import DocumentHits, findings, with_sections, write_matrix
from slice_os.search.listing import WITHOUT
from slice_os.service.asgi.steps import until_stopped
from slice_os.service.nearness import check_near
from slice_os.service.resources.bodies import (
    WHOLE,
    Filters,
    Many,
    Resource,
    StoreBody,
    Text,
    answer_of,
    attachment,
)
from slice_os.service.resources.hits import HitAnswer, TopicHighlights, named_topics, searched
from slice_os.service.resources.mining import MEDIA_TYPES, MostHits
from slice_os.service.resources.topics import NewTopic, topic_of
from slice_os.service.services import Services, Shared
from slice_os.service.settings import MOST_PHRASES
from slice_os.topics.match import Lack, Match
from slice_os.topics.topic import Topic

router = Resource("topics", lane="mining")

Format = Annotated[Literal["json", "csv", "xlsx"], Query(alias="format")]


class MatchRequest(StoreBody):
    """Combined topics whose matches to find.

    Attributes:
        topics: names of combined topics; null for all.
        rule: a combined topic that the service does not keep, in place of ``topics``.
        offset: matches to skip, for the next page.
        limit: matches in the answer; null for all.
    """

    topics: Annotated[Many[Text], Field(min_length=1, max_length=MOST_PHRASES)] | None = None
    rule: NewTopic | None = None
    offset: Annotated[int, Field(ge=0), WHOLE] = 0
    limit: MostHits = None


_Lack = answer_of(Lack, nearest=HitAnswer | None)
MatchAnswer = answer_of(Match, evidence=list[HitAnswer], lacks=list[_Lack])  # type: ignore[valid-type]


class MatchesAnswer(BaseModel):
    """Matches, topic by topic, those that most surely lack what they were to lack first.

    Attributes:
        total: number of all matches.
        matches: as many as were asked for.
        next: ``offset`` of the next page; null at the end.
        problems: where all rules were asked for, a line for each file of a topic that cannot be
            used, and for each rule that names a topic which is not there.
    """

    total: int
    matches: list[MatchAnswer]  # type: ignore[valid-type]
    next: int | None
    problems: list[str]


class MatrixRequest(TopicHighlights):
    """Topics that documents have or lack.

    Attributes:
        where: conditions on metadata, besides those of the topics.
        sections: whether hits get the nearest numbered heading before them, as metadata.
        limit: documents in the answer; null for all. A file has all of them.
    """

    where: Filters = None
    sections: bool = False
    limit: MostHits = None


CellAnswer = answer_of(DocumentHits, sparse=True, nearest=(HitAnswer | None, None))


class FindingsAnswer(BaseModel):
    """How many documents lack, may have and have a topic."""

    topic: str
    lacks: int
    unsure: int
    has: int


class MatrixAnswer(BaseModel):
    """Documents by topics.

    Attributes:
        documents: number of all documents.
        findings: of all documents, by topic.
        cells: of each topic in turn, from the document that most surely lacks it; with a limit,
            of the first documents of the first topic.
    """

    documents: int
    findings: list[FindingsAnswer]
    cells: list[CellAnswer]  # type: ignore[valid-type]


@router.post("/match", response_model=MatchesAnswer)
def match(services: Shared, body: MatchRequest) -> dict[str, Any]:
    """The documents that combined topics describe, with their evidence; see `match_topics`."""
    stored, problems = services.topics.read()
    known = [one.topic for one in stored]
    plain = [one for one in known if one.combination is None]
    if body.rule is None and body.topics is None:
        usable, lacking = sound(known)
        rules = [one for one in usable if one.combination is not None]
        problems += lacking.values()
    else:
        rules, problems = _named(services, body), []
    corpus, labels = services.stores.get(body.store), services.current_labels()
    found = []
    if rules or not problems:
        topics = [*rules, *plain]
        check_near(services, corpus, components(topics))
        found = list(until_stopped(match_topics(corpus, topics, labels=labels)))
    end = len(found) if body.limit is None else body.offset + body.limit
    return {
        "total": len(found),
        "matches": found[body.offset : end],
        "next": end if end < len(found) else None,
        "problems": problems,
    }


@router.post(
    "/matrix",
    response_model=MatrixAnswer,
    responses={200: {"content": {MEDIA_TYPES[kind]: {} for kind in ("csv", "xlsx")}}},
)
def matrix(services: Shared, body: MatrixRequest, wanted: Format = "json") -> Any:
    """What every document has, may have and lacks of some topics, as JSON or as a file."""
    corpus = services.stores.get(body.store)
    found = searched(services, corpus, body, body.where)
    cells = list(found.documents(until_stopped(corpus), WITHOUT))
    doc_ids = list(dict.fromkeys(cell.doc_id for cell in cells))
    shown = set(doc_ids[: body.limit] if wanted == "json" else doc_ids)
    given = [cell for cell in cells if cell.doc_id in shown]
    if body.sections:
        given = list(with_sections(given, lambda hits: corpus.with_sections(until_stopped(hits))))
    if wanted != "json":
        return attachment(f"matrix.{wanted}", MEDIA_TYPES[wanted], partial(write_matrix, given))
    return {
        "documents": len(doc_ids),
        "findings": [{"topic": topic, **own} for topic, own in findings(cells).items()],
        "cells": given,
    }


def _named(services: Services, body: MatchRequest) -> list[Topic]:
    """The combined topics that a request names; one that is not combined is an `InputError`."""
    if body.rule is not None:
        rules = [topic_of(body.rule, body.rule.name)]
    else:
        rules = named_topics(services, body.topics)
    for one in rules:
        if one.combination is None:
            raise InputError(f"topic {one.name!r} combines no others; mine it")
    return rules
