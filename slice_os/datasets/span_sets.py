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
    """A query for one document, and the spans that answer it, in order; there may be none."""

    doc_id: str
    query: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Annotated:
    """A document, the spans of each query, and the part of the set that the file names."""

    document: Document
    answers: dict[str, list[Span]] = field(default_factory=dict)
    split: str | None = None


@dataclass(frozen=True, slots=True)
class SpanSet:
    """A set of documents, and of questions grouped by document."""

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]
