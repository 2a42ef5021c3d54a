"""The original pages of documents, as pictures with the places of spans."""

from __future__ import annotations

import base64
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from slice_os.errors import InputError
from slice_os.originals.finding import PDF, find_original
from slice_os.originals.pages_apart import view_apart
from slice_os.service.asgi.json_bodies import JsonRoute
from slice_os.service.asgi.problems import Problem
from slice_os.service.resources.bodies import WHOLE, Body, Many, StoreBody, pooled
from slice_os.service.services import Shared
from slice_os.service.settings import MOST_HITS
from slice_os.text.documents import Extent

router = APIRouter(tags=["documents"], route_class=JsonRoute)

# Large enough for a screen with many points an inch; see `view_page` for pages that are long.
_WIDEST = 2_400


class SpanBody(Body):
    """Code points of the document, half-open."""

    start: Annotated[int, Field(ge=0), WHOLE]
    end: Annotated[int, Field(ge=0), WHOLE]


class PageRequest(StoreBody):
    """A page of a document that came from a PDF file.

    Attributes:
        store: its name; may be missing if one store is served.
        page: its number, from 1.
        width: of the picture, in pixels.
        spans: whose places are wanted.
    """

    page: Annotated[int, Field(ge=1), WHOLE]
    width: Annotated[int, Field(ge=100, le=_WIDEST), WHOLE] = 1_000
    spans: Annotated[Many[SpanBody], Field(max_length=MOST_HITS)] = Field(default_factory=list)


class PageAnswer(BaseModel):
    """A page as a picture.

    Attributes:
        page: its number.
        pages: how many there are.
        extent: its text in the document; null if it has none.
        width: of the picture, in pixels.
        height: likewise.
        picture: WebP, as a `data:` address.
        boxes: for each span, the boxes around its words on this page: left, top, right and bottom,
            in pixels.
    """

    page: int
    pages: int
    extent: dict[str, int] | None
    width: int
    height: int
    picture: str
    boxes: list[list[tuple[float, float, float, float]]]


@router.post("/pages/{doc_id:path}", response_model=PageAnswer)
@pooled("originals")
def page(services: Shared, doc_id: str, body: PageRequest) -> dict[str, Any]:
    """A page of the PDF file that a document came from, as a picture.

    The file is the one whose path the store recorded, and its content must have the checksum
    that the store recorded; otherwise status 404 says why there is no page.
    """
    corpus = services.stores.get(body.store)
    spans = [Extent(one.start, one.end) for one in body.spans]
    try:
        text = corpus.text(doc_id)
        original = find_original(corpus.store, doc_id)
        if original.format != PDF:
            raise InputError(f"{doc_id}: only PDF files have pages")
        view, pages = view_apart(original, body.page, text, spans, body.width)
    except InputError as error:
        raise Problem(404, "no_page", str(error)) from None
    return {
        "page": view.number,
        "pages": pages,
        "extent": view.extent and asdict(view.extent),
        "width": view.width,
        "height": view.height,
        "picture": f"data:image/webp;base64,{base64.b64encode(view.picture).decode()}",
        "boxes": view.boxes,
    }
