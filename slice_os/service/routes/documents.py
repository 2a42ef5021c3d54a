"""The documents of a store."""

from __future__ import annotations

from fastapi import APIRouter

from slice_os.service.json_answers import JsonAnswer
from slice_os.service.problems import Problem
from slice_os.service.services import Services, Shared

router = APIRouter(tags=["documents"])


@router.get("/documents/{doc_id:path}")
async def document(services: Shared, doc_id: str, store: str | None = None) -> JsonAnswer:
    """The text of a document, exactly as given, and its metadata."""
    text = await services.pool.run(lambda: _text(services, doc_id, store))
    return JsonAnswer({"id": doc_id, "text": text, "metadata": {}})


def _text(services: Services, doc_id: str, store: str | None) -> str:
    text = services.stores.get(store).store.document_text(doc_id)
    if text is None:
        raise Problem(404, "no_such_document", f"no document {doc_id!r}")
    return text
