"""Searching a store, and documents that are not stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Header, Query
from pydantic import BaseModel, Field
from starlette.responses import RedirectResponse

from slice_os.estimates.tallies import NOWHERE, tally
from slice_os.hits.hit import Hits
from slice_os.query.filters import value_key
from slice_os.query.options import MAX_CANDIDATES, HitOptions, SearchOptions
from slice_os.search.scan import scan as scan_documents
from slice_os.service.asgi.steps import until_stopped
from slice_os.service.resources.bodies import (
    AnyText,
    Many,
    PhraseBody,
    Resource,
    StoreBody,
    with_options,
)
from slice_os.service.resources.documents import DocumentBody, documents_of
from slice_os.service.resources.hits import HitsAnswer
from slice_os.service.services import Shared
from slice_os.service.settings import MOST_HITS, MOST_TEXTS
from slice_os.stores.protocol import FieldValue

router = Resource("search")

MOST_FACETS = 20
_MOST_STORED = 1_000
# Addresses are short, whatever is in them.
_MOST_IN_ADDRESS = 5
_Brief = Annotated[str, Field(min_length=1, max_length=400)]


@with_options(SearchOptions)
class SearchRequest(StoreBody, PhraseBody):
    """A search; see `slice_os.SearchOptions`.

    Attributes:
        facets: metadata fields whose values are counted in the hits of the answer.
    """

    facets: Annotated[Many[AnyText], Field(max_length=MOST_FACETS)] = Field(default_factory=list)


@with_options(HitOptions)
class ScanRequest(PhraseBody):
    """Documents that are searched without being stored; see `slice_os.scan`.

    Attributes:
        documents: the id of one without an id is its position, from 0.
    """

    documents: Annotated[Many[DocumentBody], Field(max_length=MOST_TEXTS)]


class FacetAnswer(BaseModel):
    """A value of a metadata field, and the hits and documents of the answer that have it.

    Attributes:
        stored: documents of the whole store that have it; null if it is not among the 1,000 most
            frequent values there.
    """

    value: str
    hits: int
    documents: int
    stored: int | None


class SearchAnswer(HitsAnswer):
    """Hits of a search, the best first.

    Attributes:
        said: whether anybody says the phrase; if not, the hits are what comes nearest.
        threshold: least cosine that they were selected with; null for any.
        min_probability: least probability; null for any.
        exhaustive: whether every passage was scored.
        next: ``offset`` of the next page; null if there are no more hits.
        facets: of each field that was asked for, its values in these hits, the most frequent first.
        milliseconds: that the search took.
    """

    said: bool
    threshold: float | None
    min_probability: float | None
    exhaustive: bool
    next: int | None
    facets: dict[str, list[FacetAnswer]]
    milliseconds: float


@router.post("/search", response_model=SearchAnswer)
def search(services: Shared, body: SearchRequest) -> dict[str, Any]:
    """The best passages for any of the phrases, each with its best span."""
    begun = perf_counter()
    corpus = services.stores.get(body.store)
    options = body.options(SearchOptions)
    # It refuses an unknown one.
    stored = {field: corpus.field_values(field, _MOST_STORED) for field in body.facets}
    hits = corpus.search(body.phrases, options)
    more = len(hits) == options.top_k > 0
    return {
        "hits": list(hits),
        "said": hits.said,
        "threshold": hits.threshold,
        "min_probability": hits.min_probability,
        "exhaustive": hits.exhaustive,
        "next": options.end if more else None,
        "facets": {field: list(_values(hits, field, all_of)) for field, all_of in stored.items()},
        "milliseconds": round(1_000 * (perf_counter() - begun), 3),
    }


def _values(hits: Hits, field: str, stored: Sequence[FieldValue]) -> Iterator[dict[str, Any]]:
    known = Counter[str]()
    for one in stored:
        known[value_key(one.value)] += one.documents
    # A field may have the name of a period, or of what else hits are counted by.
    for row in tally(hits, "topic", within=field):
        if row.within != NOWHERE:
            yield {
                "value": row.within,
                "hits": row.hits,
                "documents": row.documents,
                "stored": known[value_key(row.within)] or None,
            }


@router.get("/search", response_model=SearchAnswer, responses={303: {"description": "The page."}})
def search_by_address(
    services: Shared,
    phrases: Annotated[
        list[_Brief],
        Query(alias="q", min_length=1, max_length=_MOST_IN_ADDRESS, description="Phrases to find."),
    ],
    store: str | None = None,
    top_k: Annotated[int, Query(ge=1, le=MOST_HITS)] = 10,
    offset: Annotated[int, Query(ge=0, le=MAX_CANDIDATES)] = 0,
    facets: Annotated[list[_Brief], Query(max_length=_MOST_IN_ADDRESS)] = [],  # noqa: B006
    accept: Annotated[str, Header(include_in_schema=False)] = "",
) -> Any:
    """The same search by an address that can be shared; a browser is sent to the page.

    Unlike those of the page's own links, these phrases are in the logs of servers and proxies.
    """
    if "text/html" in accept:
        view = [("phrase", one) for one in phrases] + ([("store", store)] if store else [])
        return RedirectResponse(f"./#search?{urlencode(view)}", status_code=303)
    body = SearchRequest.model_validate(
        {"phrases": phrases, "store": store, "top_k": top_k, "offset": offset, "facets": facets}
    )
    return search(services, body)


@router.post("/scan", response_model=HitsAnswer)
def scan(services: Shared, body: ScanRequest) -> dict[str, Any]:
    """Every hit in documents that come with the request; nothing is stored."""
    encoder = services.encoders.default()
    documents = until_stopped(documents_of(body.documents))
    options = body.options(HitOptions)
    options = replace(options, verifier=options.verifier or services.settings.verifier)
    hits = scan_documents(documents, body.phrases, options, encoder=encoder)
    return {"hits": list(until_stopped(hits))}
