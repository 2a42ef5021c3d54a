"""The documents of a store: listed, shown, marked, added and deleted; and original pages."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from itertools import islice
from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from slice_os.corpus import Corpus
from slice_os.errors import InputError
from slice_os.originals.finding import PDF, find_original
from slice_os.originals.pages_apart import view_apart
from slice_os.search.around import Turn
from slice_os.service.asgi.problems import Problem
from slice_os.service.asgi.steps import until_stopped
from slice_os.service.resources.bodies import WHOLE, Body, Many, Resource, StoreBody, pooled
from slice_os.service.resources.hits import HitsAnswer, PhraseHighlights, TopicHighlights, mined
from slice_os.service.services import Shared
from slice_os.service.settings import MOST_HITS, MOST_TEXTS
from slice_os.stores.protocol import DocumentEntry
from slice_os.text.documents import Document, Extent, Scalar, Segment

router = Resource("documents")

# Large enough for a screen with many points an inch; see `view_page` for pages that are long.
_WIDEST = 2_400


class SpanBody(Body):
    """Code points of the document, half-open."""

    start: Annotated[int, Field(ge=0), WHOLE]
    end: Annotated[int, Field(ge=0), WHOLE]


class SegmentBody(SpanBody):
    """A turn or cue of a document; see `slice_os.Segment`."""

    speaker: str | None = None
    start_time: float | None = None
    end_time: float | None = None
    fields: dict[str, Scalar] = Field(default_factory=dict)


class DocumentBody(Body):
    """A document; see `slice_os.Document`. Offsets count code points."""

    id: Annotated[str, Field(min_length=1)] | None = None
    text: str
    metadata: dict[str, Scalar] = Field(default_factory=dict)
    segments: Many[SegmentBody] = Field(default_factory=list)
    language: str | None = None

    def document(self, name: str) -> Document:
        """The document, of this name if it has no id; errors as `slice_os.Document`."""
        segments = tuple(Segment(**one.model_dump()) for one in self.segments)
        doc_id = name if self.id is None else self.id
        return Document(doc_id, self.text, self.metadata, segments, language=self.language)


class NamedDocument(DocumentBody):
    """A document to store; it replaces one with the same id."""

    id: Annotated[str, Field(min_length=1)]


class DocumentsRequest(StoreBody):
    """Documents to store.

    Attributes:
        documents: each replaces one with the same id.
    """

    documents: Annotated[Many[NamedDocument], Field(max_length=MOST_TEXTS)]


class AddedAnswer(BaseModel):
    """The number of documents that were stored."""

    added: int


class DocumentsAnswer(BaseModel):
    """Some of the documents of a store, by id.

    Attributes:
        documents: each with its source and the number of its passages.
        next: the id to continue after; null at the end.
    """

    documents: list[DocumentEntry]
    next: str | None


class DocumentAnswer(BaseModel):
    """A document as it is stored; the text exactly as given."""

    id: str
    text: str
    metadata: Mapping[str, Any]


class HighlightsAnswer(DocumentAnswer, HitsAnswer):
    """A document, the hits in it, and its turns if it is a conversation."""

    turns: list[Turn]


class PageRequest(StoreBody):
    """A page of a document that came from a PDF file.

    Attributes:
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


@router.get("/documents", response_model=DocumentsAnswer)
def listed(
    services: Shared,
    store: str | None = None,
    after: str = "",
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> dict[str, Any]:
    """List the documents of a store by id, some at a time."""
    entries = list(islice(services.stores.get(store).documents(after), limit + 1))
    shown = entries[:limit]
    return {"documents": shown, "next": shown[-1].id if len(entries) > limit else None}


@router.post("/documents", response_model=AddedAnswer)
@pooled("writing")
def add(services: Shared, body: DocumentsRequest) -> dict[str, int]:
    """Store documents; each replaces one with the same id.

    If the request is stopped, the documents that are complete stay.
    """
    documents = list(documents_of(body.documents))
    with services.stores.writing(body.store) as corpus:
        return {"added": corpus.add(until_stopped(documents))}


@router.post("/documents/{doc_id:path}/highlights", response_model=HighlightsAnswer)
def highlights(
    services: Shared, doc_id: str, body: PhraseHighlights | TopicHighlights
) -> dict[str, Any]:
    """A document, every hit in it, and its turns."""
    corpus = services.stores.get(body.store)
    document = _document(corpus, doc_id)
    hits, _ = mined(services, corpus, body, {"_id": doc_id})
    spoken = not {"speaker", "start_time"}.isdisjoint(corpus.fields())
    return {
        **document,
        "hits": list(until_stopped(hits)),
        "turns": corpus.turns(doc_id) if spoken else [],
    }


@router.get("/documents/{doc_id:path}", response_model=DocumentAnswer)
def shown(services: Shared, doc_id: str, store: str | None = None) -> dict[str, Any]:
    """The text of a document, exactly as given, and its metadata."""
    return _document(services.stores.get(store), doc_id)


@router.delete("/documents/{doc_id:path}", status_code=204)
@pooled("writing")
def delete(services: Shared, doc_id: str, store: str | None = None) -> Response:
    """Delete a document."""
    with services.stores.writing(store) as corpus:
        if not corpus.delete(doc_id):
            raise _no_such(doc_id)
    return Response(status_code=204)


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


def documents_of(bodies: Iterable[DocumentBody]) -> Iterator[Document]:
    """Yield the documents; the id of one without an id is its position, from 0."""
    for number, body in enumerate(bodies):
        yield body.document(str(number))


def _document(corpus: Corpus, doc_id: str) -> dict[str, Any]:
    metadata = corpus.store.document_metadata(doc_id)
    text = corpus.store.document_text(doc_id)
    if metadata is None or text is None:
        raise _no_such(doc_id)
    return {"id": doc_id, "text": text, "metadata": metadata}


def _no_such(doc_id: str) -> Problem:
    return Problem(404, "no_such_document", f"no document {doc_id!r}; GET /documents lists them")
