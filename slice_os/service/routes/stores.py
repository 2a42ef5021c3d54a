"""The stores that are served."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from slice_os.service.services import Services, Shared

router = APIRouter(tags=["stores"])


@router.get("/stores")
async def stores(services: Shared) -> dict[str, Any]:
    """Name, kind, size and encoder of every store."""
    names = services.stores.names
    found = await services.pool.run(lambda: [_entry(services, name) for name in names])
    return {"stores": found}


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
        "fields": {},
    }
