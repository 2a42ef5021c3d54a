"""Documents in requests and answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, Field

from slice_os.service.models.base import WHOLE, Body, StoreName
from slice_os.service.settings import MOST_TEXTS
from slice_os.stores.protocol import DocumentEntry
from slice_os.text.documents import ENGLISH, Document, Scalar, Segment


class SegmentBody(Body):
    """A turn or cue of a document; see `slice_os.Segment`."""

    start: Annotated[int, Field(ge=0), WHOLE]
    end: Annotated[int, Field(ge=0), WHOLE]
    speaker: str | None = None
    start_time: float | None = None
    end_time: float | None = None
    fields: dict[str, Scalar] = Field(default_factory=dict)


class DocumentBody(Body):
    """A document; see `slice_os.Document`. Offsets count code points."""

    id: Annotated[str, Field(min_length=1)] | None = None
    text: str
    metadata: dict[str, Scalar] = Field(default_factory=dict)
    segments: list[SegmentBody] = Field(default_factory=list)
    language: str = ENGLISH

    def document(self, name: str) -> Document:
        """The document.

        Args:
            name: its id, if it has none.

        Raises:
            InputError: as `slice_os.Document`.
        """
        segments = tuple(Segment(**one.model_dump()) for one in self.segments)
        doc_id = name if self.id is None else self.id
        return Document(doc_id, self.text, self.metadata, segments, language=self.language)


class NamedDocument(DocumentBody):
    """A document to be stored; one with the same id is replaced."""

    id: Annotated[str, Field(min_length=1)]


class DocumentsRequest(Body):
    """Documents to be stored.

    Attributes:
        store: its name; may be missing if one store is served.
        documents: those of an id that is stored replace it.
    """

    store: StoreName = None
    documents: Annotated[list[NamedDocument], Field(max_length=MOST_TEXTS)]


class AddedAnswer(BaseModel):
    """How many documents were stored."""

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
    """A document as it is stored.

    Attributes:
        id: of the document.
        text: exactly as given.
        metadata: its fields.
    """

    id: str
    text: str
    metadata: Mapping[str, Any]


def documents_of(bodies: Iterable[DocumentBody]) -> Iterator[Document]:
    """The documents; those without an id are called by their position, from 0."""
    for number, body in enumerate(bodies):
        yield body.document(str(number))
