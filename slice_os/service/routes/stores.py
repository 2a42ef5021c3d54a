"""The stores that are served."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query

from slice_os.service.json_answers import JsonAnswer
from slice_os.service.models.stores import FieldValuesAnswer, StoresAnswer
from slice_os.service.services import Services, Shared

router = APIRouter(tags=["stores"])


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
