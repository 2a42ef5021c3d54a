"""A store at a glance: how much, from when, of what kinds, and what is often said in it."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from slice_os.corpus import Corpus
from slice_os.estimates.tallies import documents_by
from slice_os.service.asgi.json_bodies import JsonRoute
from slice_os.service.asgi.steps import until_stopped
from slice_os.service.known import store_state
from slice_os.service.resources.bodies import pooled
from slice_os.service.resources.counts import DateField
from slice_os.service.services import Shared
from slice_os.topics.frequent import frequent_sentences

router = APIRouter(tags=["stores"], route_class=JsonRoute)

_SPEAKER = "speaker"
_LISTED = 20_000
_READ = 1_000
_MOST_KINDS = 20


class Week(BaseModel):
    """The number of documents of a week, and its Monday."""

    week: str
    documents: int


class OverviewAnswer(BaseModel):
    """A store at a glance.

    Attributes:
        documents: number of documents.
        first: the first day; null if no document has a date.
        last: the last day.
        weeks: with documents, in order.
        kinds: number of values of each text field that has 2 to 20.
        phrases: sentences that many documents have.
    """

    documents: int
    first: str | None
    last: str | None
    weeks: list[Week]
    kinds: dict[str, int]
    phrases: list[str]


@router.get("/stores/{name}/overview", response_model=OverviewAnswer)
@pooled()
def overview(services: Shared, name: str, date_field: DateField = "date") -> dict[str, Any]:
    """A store at a glance; it is looked at again only after it has changed."""
    corpus = services.stores.get(name)
    state = (*store_state(corpus, corpus.info()), date_field)
    return services.overviews.of((name,), state, partial(_overview, corpus, date_field))


def _overview(corpus: Corpus, date_field: str) -> dict[str, Any]:
    days = sorted(documents_by(corpus, "day", date_field).keys() - {"-"})
    weeks = documents_by(corpus, "week", date_field)
    weeks.pop("-", None)
    kinds = {}
    for field, kind in corpus.fields().items():
        if kind != "text" or field in (_SPEAKER, date_field):
            continue
        number = len(corpus.field_values(field, _MOST_KINDS + 1))
        if 1 < number <= _MOST_KINDS:
            kinds[field] = number
    ids = [entry.id for entry in islice(corpus.documents(), _LISTED)]
    read = ids[:: max(1, len(ids) // _READ)][:_READ]
    texts = filter(None, map(corpus.store.document_text, until_stopped(read)))
    return {
        "documents": corpus.info().documents,
        "first": days[0] if days else None,
        "last": days[-1] if days else None,
        "weeks": [
            {"week": week, "documents": weeks[week]} for week in sorted(weeks.keys() - {"-"})
        ],
        "kinds": kinds,
        "phrases": frequent_sentences(texts),
    }
