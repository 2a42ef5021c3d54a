"""The documents of a store: listed, shown, marked, added and deleted."""

from __future__ import annotations

from dataclasses import asdict
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from slice_os.corpus import Corpus
from slice_os.service.criteria import mined
from slice_os.service.json_answers import JsonAnswer
from slice_os.service.models.documents import (
    AddedAnswer,
    DocumentAnswer,
    DocumentsAnswer,
    DocumentsRequest,
    documents_of,
)
from slice_os.service.models.search import HighlightsAnswer, PhraseHighlights, TopicHighlights
from slice_os.service.problems import Problem
from slice_os.service.services import Services, Shared
from slice_os.service.stopping import until_stopped

router = APIRouter(tags=["documents"])

Limit = Annotated[int, Query(ge=1, le=1_000)]


@router.get("/documents", response_model=DocumentsAnswer)
async def listed(
    services: Shared, store: str | None = None, after: str = "", limit: Limit = 100
) -> JsonAnswer:
    """The documents of a store by id, some at a time."""
    return JsonAnswer(await services.pool.run(lambda: _listed(services, store, after, limit)))


@router.post("/documents", response_model=AddedAnswer)
async def add(services: Shared, body: DocumentsRequest) -> JsonAnswer:
    """Store documents; those of an id that is stored replace it.

    If the request is stopped, the documents that are complete stay.
    """
    seconds = services.settings.limits.mine_seconds
    return JsonAnswer({"added": await services.pool.run(lambda: _add(services, body), seconds)})


@router.post("/documents/{doc_id:path}/highlights", response_model=HighlightsAnswer)
async def highlights(
    services: Shared, doc_id: str, body: PhraseHighlights | TopicHighlights
) -> JsonAnswer:
    """A document, and every hit in it."""
    return JsonAnswer(await services.pool.run(lambda: _highlights(services, doc_id, body)))


@router.get("/documents/{doc_id:path}", response_model=DocumentAnswer)
async def shown(services: Shared, doc_id: str, store: str | None = None) -> JsonAnswer:
    """The text of a document, exactly as given, and its metadata."""
    found = await services.pool.run(lambda: _document(services.stores.get(store), doc_id))
    return JsonAnswer(found)


@router.delete("/documents/{doc_id:path}", status_code=204)
async def delete(services: Shared, doc_id: str, store: str | None = None) -> Response:
    """Delete a document."""
    seconds = services.settings.limits.mine_seconds
    if not await services.pool.run(lambda: _delete(services, doc_id, store), seconds):
        raise _no_such(doc_id)
    return Response(status_code=204)


def _listed(services: Services, store: str | None, after: str, limit: int) -> dict[str, Any]:
    entries = list(islice(services.stores.get(store).documents(after), limit + 1))
    more = len(entries) > limit
    page = entries[:limit]
    return {"documents": list(map(asdict, page)), "next": page[-1].id if more else None}


def _add(services: Services, body: DocumentsRequest) -> int:
    documents = list(documents_of(body.documents))
    with services.stores.writing(body.store) as corpus:
        return corpus.add(until_stopped(documents))


def _delete(services: Services, doc_id: str, store: str | None) -> bool:
    with services.stores.writing(store) as corpus:
        return bool(corpus.delete(doc_id))


def _highlights(
    services: Services, doc_id: str, body: PhraseHighlights | TopicHighlights
) -> dict[str, Any]:
    corpus = services.stores.get(body.store)
    document = _document(corpus, doc_id)
    hits = mined(services, corpus, body, {"_id": doc_id})
    return {**document, "hits": [hit.to_dict() for hit in until_stopped(hits)]}


def _document(corpus: Corpus, doc_id: str) -> dict[str, Any]:
    metadata = corpus.store.document_metadata(doc_id)
    text = corpus.store.document_text(doc_id)
    if metadata is None or text is None:
        raise _no_such(doc_id)
    return {"id": doc_id, "text": text, "metadata": metadata}


def _no_such(doc_id: str) -> Problem:
    return Problem(404, "no_such_document", f"no document {doc_id!r}; GET /documents lists them")
