"""Documents by topics: what each document has, may have and lacks."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel

from slice_os.hits.document_hits import DocumentHits, findings, with_sections, write_matrix
from slice_os.search.listing import WITHOUT
from slice_os.service.asgi.steps import until_stopped
from slice_os.service.resources.bodies import Filters, answer_of, attachment, pooled, resource
from slice_os.service.resources.hits import HitAnswer, TopicHighlights, searched
from slice_os.service.resources.mining import MEDIA_TYPES, MostHits
from slice_os.service.services import Shared

router = resource("topics")

Format = Annotated[Literal["json", "csv", "xlsx"], Query(alias="format")]


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


@router.post(
    "/matrix",
    response_model=MatrixAnswer,
    responses={200: {"content": {MEDIA_TYPES[kind]: {} for kind in ("csv", "xlsx")}}},
)
@pooled("mining")
def matrix(services: Shared, body: MatrixRequest, wanted: Format = "json") -> Any:
    """What every document has, may have and lacks of some topics, as JSON or as a file."""
    corpus = services.stores.get(body.store)
    found = searched(services, corpus, body, body.where)
    cells = list(found.documents(until_stopped(corpus), WITHOUT))
    doc_ids = list(dict.fromkeys(cell.doc_id for cell in cells))
    shown = set(doc_ids[: body.limit] if wanted == "json" else doc_ids)
    given = [cell for cell in cells if cell.doc_id in shown]
    if body.sections:
        given = list(with_sections(until_stopped(given), corpus.with_sections))
    if wanted != "json":
        return attachment(f"matrix.{wanted}", MEDIA_TYPES[wanted], partial(write_matrix, given))
    return {
        "documents": len(doc_ids),
        "findings": [{"topic": topic, **own} for topic, own in findings(cells).items()],
        "cells": given,
    }
