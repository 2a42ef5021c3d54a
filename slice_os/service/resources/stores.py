"""The stores that are served, and each at a glance."""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import islice
from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel

from slice_os.corpus import Corpus
from slice_os.errors import StoreError
from slice_os.estimates.tallies import NOWHERE, documents_by, place_of
from slice_os.search.refinement import usual_cut
from slice_os.service.asgi.problems import problem_of
from slice_os.service.asgi.steps import until_stopped
from slice_os.service.known import store_state
from slice_os.service.resources.bodies import Resource
from slice_os.service.resources.counts import DateField
from slice_os.service.services import Shared
from slice_os.stores.protocol import FieldValue, RemoteStore
from slice_os.topics.frequent import frequent_sentences

router = Resource("stores")

_SPEAKER = "speaker"
_LISTED = 20_000
_READ = 1_000
_MOST_KINDS = 20
# Fields that are told, or looked at: each takes a question to the store.
_MOST_FIELDS = 1_000

MostValues = Annotated[int, Query(ge=1, le=1_000)]


class StoreEntry(BaseModel):
    """A store that is served.

    Attributes:
        name: that requests use.
        kind: a folder on the service's disk, or an index in OpenSearch or Elasticsearch.
        documents: number of documents.
        passages: number of passages.
        pieces: number of token vectors.
        encoder: name of the model that made them.
        min_probability: least probability of a hit in `/mine` and of topics, unless a request or
            a topic says otherwise; null if hits have none.
        threshold: least cosine that the model suggests; it is the cut if hits have no probability.
        least_cosine: from here on hits are looked at if the cut is a probability.
        unit: what its documents are: dialogues if they have speakers.
        fields: metadata fields that filters can name, and their kinds; the first 1,000 of them.
    """

    name: str
    kind: Literal["local", "opensearch", "elasticsearch"]
    documents: int
    passages: int
    pieces: int
    encoder: str
    min_probability: float | None
    threshold: float
    least_cosine: float
    unit: Literal["dialogue", "document"]
    fields: dict[str, Literal["text", "number"]]


class StoreFault(BaseModel):
    """A store that is served but cannot be read now, and why."""

    name: str
    reason: str


class StoresAnswer(BaseModel):
    """The stores that are served, in the order given, and those that cannot be read now.

    Attributes:
        work: the folder that topics and labels are in.
    """

    stores: list[StoreEntry]
    unavailable: list[StoreFault]
    work: str


class FieldValuesAnswer(BaseModel):
    """The most frequent values of a metadata field."""

    values: list[FieldValue]


class FieldsAnswer(BaseModel):
    """The most frequent values of each text field."""

    fields: dict[str, list[FieldValue]]


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


@router.get("/stores", response_model=StoresAnswer)
def stores(services: Shared) -> dict[str, Any]:
    """Name, kind, size, encoder and metadata fields of every store that can be read."""
    entries, faults = [], []
    for name in services.stores.names:
        try:
            entries.append(_entry(name, services.stores.get(name)))
        except StoreError as error:
            faults.append({"name": name, "reason": str(problem_of(error))})
    return {"stores": entries, "unavailable": faults, "work": str(services.work.folder)}


@router.get("/stores/{name}/fields", response_model=FieldsAnswer)
def all_values(services: Shared, name: str, limit: MostValues = 100) -> dict[str, Any]:
    """The most frequent values of the text fields, each with its number of documents.

    Of more than 1,000 fields, the first ones are in the answer.
    """
    corpus = services.stores.get(name)
    texts = _text_fields(corpus)
    return {"fields": {field: corpus.field_values(field, limit) for field in until_stopped(texts)}}


@router.get("/stores/{name}/fields/{field:path}", response_model=FieldValuesAnswer)
def values(services: Shared, name: str, field: str, limit: MostValues = 100) -> dict[str, Any]:
    """The most frequent values of a metadata field, each with its number of documents."""
    return {"values": services.stores.get(name).field_values(field, limit)}


@router.get("/stores/{name}/overview", response_model=OverviewAnswer)
def overview(services: Shared, name: str, date_field: DateField = "date") -> dict[str, Any]:
    """A store at a glance; it is looked at again only after it has changed."""
    corpus = services.stores.get(name)
    state = (*store_state(corpus, corpus.info()), date_field)
    return services.overviews.of((name,), state, partial(_overview, corpus, date_field))


def _entry(name: str, corpus: Corpus) -> dict[str, Any]:
    info, store = corpus.info(), corpus.store
    refine, fields = corpus.refinement(), corpus.fields()
    cut = usual_cut(corpus.encoder, refine.verifies)
    return {
        "name": name,
        "kind": store.engine.lower() if isinstance(store, RemoteStore) else "local",
        "documents": info.documents,
        "passages": info.passages,
        "pieces": info.pieces,
        "encoder": info.encoder.name,
        "min_probability": cut.get("min_probability"),
        "threshold": info.encoder.threshold,
        "least_cosine": refine.threshold,
        "unit": "dialogue" if _SPEAKER in fields else "document",
        "fields": dict(islice(fields.items(), _MOST_FIELDS)),
    }


def _text_fields(corpus: Corpus) -> list[str]:
    return [field for field, kind in corpus.fields().items() if kind == "text"][:_MOST_FIELDS]


def _overview(corpus: Corpus, date_field: str) -> dict[str, Any]:
    days = documents_by(corpus, "day", date_field)
    days.pop(NOWHERE, None)
    weeks: Counter[str] = Counter()
    for day, documents in days.items():
        weeks[place_of(day, "week")] += documents
    kinds = {}
    for field in until_stopped(_text_fields(corpus)):
        if field in (_SPEAKER, date_field):
            continue
        number = len(corpus.field_values(field, _MOST_KINDS + 1))
        if 1 < number <= _MOST_KINDS:
            kinds[field] = number
    ids = [entry.id for entry in islice(corpus.documents(), _LISTED)]
    read = ids[:: max(1, len(ids) // _READ)][:_READ]
    texts = filter(None, map(corpus.store.document_text, until_stopped(read)))
    return {
        "documents": corpus.info().documents,
        "first": min(days, default=None),
        "last": max(days, default=None),
        "weeks": [{"week": week, "documents": weeks[week]} for week in sorted(weeks)],
        "kinds": kinds,
        "phrases": frequent_sentences(texts),
    }
