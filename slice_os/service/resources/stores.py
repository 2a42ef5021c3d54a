"""The stores that are served."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel

from slice_os.service.resources.bodies import JsonAnswer
from slice_os.service.services import Services, Shared
from slice_os.stores.protocol import FieldValue

router = APIRouter(tags=["stores"])


class StoreEntry(BaseModel):
    """A store that is served.

    Attributes:
        name: that requests use.
        kind: a folder on the service's disk, or an index in OpenSearch.
        documents: number of documents.
        passages: number of passages.
        pieces: number of token vectors.
        encoder: name of the model that made them.
        threshold: least cosine of a hit in `/mine`, unless the request has one.
        fields: metadata fields that filters can name, and their kinds.
    """

    name: str
    kind: Literal["local", "opensearch"]
    documents: int
    passages: int
    pieces: int
    encoder: str
    threshold: float
    fields: dict[str, Literal["text", "number"]]


class StoresAnswer(BaseModel):
    """The stores that are served, in the order given."""

    stores: list[StoreEntry]


class FieldValuesAnswer(BaseModel):
    """The most frequent values of a metadata field."""

    values: list[FieldValue]


@router.get("/stores", response_model=StoresAnswer)
async def stores(services: Shared) -> JsonAnswer:
    """Name, kind, size, encoder and metadata fields of every store."""
    names = services.stores.names
    found = await services.pool.run(lambda: [_entry(services, name) for name in names])
    return JsonAnswer({"stores": found})


@router.get("/stores/{name}/fields/{field:path}", response_model=FieldValuesAnswer)
async def values(
    services: Shared, name: str, field: str, limit: Annotated[int, Query(ge=1, le=1_000)] = 100
) -> JsonAnswer:
    """The most frequent values of a metadata field, each with its number of documents."""
    found = await services.pool.run(lambda: services.stores.get(name).field_values(field, limit))
    return JsonAnswer({"values": list(map(asdict, found))})


def _entry(services: Services, name: str) -> dict[str, Any]:
    corpus = services.stores.get(name)
    info = corpus.info()
    return {
        "name": name,
        "kind": "local" if corpus.store.folder else "opensearch",
        "documents": info.documents,
        "passages": info.passages,
        "pieces": info.pieces,
        "encoder": info.encoder.name,
        "threshold": info.encoder.threshold,
        "fields": corpus.fields(),
    }
