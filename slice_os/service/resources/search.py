"""Searching a store, and documents that are not stored."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from slice_os.query.options import HitOptions, SearchOptions
from slice_os.search.scan import scan as scan_documents
from slice_os.service.asgi.json_bodies import JsonRoute
from slice_os.service.asgi.steps import until_stopped
from slice_os.service.resources.bodies import Many, PhraseBody, StoreName, pooled, with_options
from slice_os.service.resources.documents import DocumentBody, documents_of
from slice_os.service.resources.hits import HitsAnswer
from slice_os.service.services import Shared
from slice_os.service.settings import MOST_TEXTS

router = APIRouter(tags=["search"], route_class=JsonRoute)


@with_options(SearchOptions)
class SearchRequest(PhraseBody):
    """A search; see `slice_os.SearchOptions`.

    Attributes:
        store: its name; may be missing if one store is served.
    """

    store: StoreName = None


@with_options(HitOptions)
class ScanRequest(PhraseBody):
    """Documents that are searched without being stored; see `slice_os.scan`.

    Attributes:
        documents: the id of one without an id is its position, from 0.
    """

    documents: Annotated[Many[DocumentBody], Field(max_length=MOST_TEXTS)]


class SearchAnswer(HitsAnswer):
    """Hits of a search, the best first.

    Attributes:
        said: whether anybody says the phrase; if not, the hits are what comes nearest.
        threshold: least cosine that they were selected with; null for any.
        min_probability: least probability; null for any.
        exhaustive: whether every passage was scored.
        milliseconds: that the search took.
    """

    said: bool
    threshold: float | None
    min_probability: float | None
    exhaustive: bool
    milliseconds: float


@router.post("/search", response_model=SearchAnswer)
@pooled()
def search(services: Shared, body: SearchRequest) -> dict[str, Any]:
    """The best passages for any of the phrases, each with its best span."""
    begun = perf_counter()
    corpus = services.stores.get(body.store)
    hits = corpus.search(body.phrases, body.options(SearchOptions))
    return {
        "hits": [hit.to_dict() for hit in hits],
        "said": hits.said,
        "threshold": hits.threshold,
        "min_probability": hits.min_probability,
        "exhaustive": hits.exhaustive,
        "milliseconds": round(1_000 * (perf_counter() - begun), 3),
    }


@router.post("/scan", response_model=HitsAnswer)
@pooled()
def scan(services: Shared, body: ScanRequest) -> dict[str, Any]:
    """Every hit in documents that come with the request; nothing is stored."""
    encoder = services.encoders.default()
    documents = until_stopped(documents_of(body.documents))
    options = body.options(HitOptions)
    options = replace(options, verifier=options.verifier or services.settings.verifier)
    hits = scan_documents(documents, body.phrases, options, encoder=encoder)
    return {"hits": [hit.to_dict() for hit in until_stopped(hits)]}
