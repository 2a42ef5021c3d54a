"""Searching a store, and documents that are not stored."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from fastapi import APIRouter

from slice_os.search.scan import scan as scan_documents
from slice_os.service.json_answers import JsonAnswer
from slice_os.service.models.documents import documents_of
from slice_os.service.models.search import HitsAnswer, ScanRequest, SearchAnswer, SearchRequest
from slice_os.service.services import Services, Shared
from slice_os.service.stopping import until_stopped

router = APIRouter(tags=["search"])


@router.post("/search", response_model=SearchAnswer)
async def search(services: Shared, body: SearchRequest) -> JsonAnswer:
    """The best passages for any of the phrases, each with its best span."""
    return JsonAnswer(await services.pool.run(lambda: _search(services, body)))


@router.post("/scan", response_model=HitsAnswer)
async def scan(services: Shared, body: ScanRequest) -> JsonAnswer:
    """Every hit in documents that come with the request; nothing is stored."""
    return JsonAnswer(await services.pool.run(lambda: _scan(services, body)))


def _search(services: Services, body: SearchRequest) -> dict[str, Any]:
    begun = perf_counter()
    options = body.model_dump(exclude={"store", "phrases"})
    hits = services.stores.get(body.store).search(body.phrases, **options)
    return {
        "hits": [hit.to_dict() for hit in hits],
        "threshold": hits.threshold,
        "min_probability": hits.min_probability,
        "exhaustive": hits.exhaustive,
        "milliseconds": round(1_000 * (perf_counter() - begun), 3),
    }


def _scan(services: Services, body: ScanRequest) -> dict[str, Any]:
    options = body.model_dump(exclude={"documents", "phrases"})
    encoder = services.encoders.default()
    documents = until_stopped(documents_of(body.documents))
    hits = scan_documents(documents, body.phrases, encoder=encoder, **options)
    return {"hits": [hit.to_dict() for hit in until_stopped(hits)]}
