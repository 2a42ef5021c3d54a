"""Searching a store, and documents that are not stored."""

from __future__ import annotations

from time import perf_counter
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import Field

from slice_os.query.options import MAX_CANDIDATES, NUM_CANDIDATES
from slice_os.search.scan import scan as scan_documents
from slice_os.service.asgi.json_answers import JsonAnswer
from slice_os.service.asgi.work import until_stopped
from slice_os.service.resources.bodies import WHOLE, Filters, StoreName
from slice_os.service.resources.documents import DocumentBody, documents_of
from slice_os.service.resources.hits import HitsAnswer, Wanted
from slice_os.service.services import Services, Shared
from slice_os.service.settings import MOST_HITS, MOST_TEXTS

router = APIRouter(tags=["search"])


class SearchRequest(Wanted):
    """A search; see `slice_os.Corpus.search`.

    Attributes:
        store: its name; may be missing if one store is served.
        top_k: number of hits.
        offset: hits to skip, for the next page.
        where: conditions on metadata.
        fusion: the way in which cosine and BM25 make a score.
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


class ScanRequest(Wanted):
    """Documents that are searched without being stored; see `slice_os.scan`.

    Attributes:
        documents: the id of one without an id is its position, from 0.
    """

    documents: Annotated[list[DocumentBody], Field(max_length=MOST_TEXTS)]


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
