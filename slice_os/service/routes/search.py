"""Searching a store."""

from __future__ import annotations

from time import perf_counter
from typing import Any

from fastapi import APIRouter

from slice_os.service.json_answers import JsonAnswer
from slice_os.service.models.search import SearchAnswer, SearchRequest
from slice_os.service.services import Services, Shared

router = APIRouter(tags=["search"])


@router.post("/search", response_model=SearchAnswer)
async def search(services: Shared, body: SearchRequest) -> JsonAnswer:
    """The best passages for any of the phrases, each with its best span."""
    return JsonAnswer(await services.pool.run(lambda: _search(services, body)))


def _search(services: Services, body: SearchRequest) -> dict[str, Any]:
    begun = perf_counter()
    options = body.model_dump(exclude={"store", "phrases", "counter_phrases"})
    hits = services.stores.get(body.store).search(body.phrases, **options)
    return {
        "hits": [hit.to_dict() for hit in hits],
        "threshold": hits.threshold,
        "min_probability": hits.min_probability,
        "exhaustive": hits.exhaustive,
        "milliseconds": round(1_000 * (perf_counter() - begun), 3),
    }
