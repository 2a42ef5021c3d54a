"""Documents with questions and the character spans that answer them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from slice_os.datasets.files import DataSource
from slice_os.text.documents import Document

Span: TypeAlias = tuple[int, int]
"""Half-open code points of a text."""

SPAN_SETS = DataSource(
    'a JSON object a line {"text", "queries": [{"query", "spans": [[start, end], ...]}]}, '
    "or CUAD, ContractNLI, QMSum, restaurant8k or SQuAD as published",
    "docs/evaluation/span-retrieval.md",
)


class DocumentSpan(NamedTuple):
    """A span and the document that it is a part of; ``start`` and ``end`` as in `Span`."""

    doc_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Question:
    """A query for one document.

    Attributes:
        doc_id: id of the document.
        query: what to look for.
        spans: half-open code points of the document's text that answer it, in order; none if
            the document has no answer.
    """

    doc_id: str
    query: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Annotated:
    """A document and its questions, as a reader found them.

    Attributes:
        document: the document.
        answers: for each query, its spans.
        split: the part of the set that it belongs to, if the file says so.
    """

    document: Document
    answers: dict[str, list[Span]] = field(default_factory=dict)
    split: str | None = None


@dataclass(frozen=True, slots=True)
class SpanSet:
    """A set of documents and questions.

    Attributes:
        name: format and split.
        documents: in the order of the file.
        questions: grouped by document.
    """

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
