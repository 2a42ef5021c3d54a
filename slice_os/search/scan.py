"""Scanning a stream of texts for phrases, without a store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.hits.hit import Hit
from slice_os.ingest.passages import encode_documents
from slice_os.query.options import DEFAULT_SCAN, HitKeywords, HitOptions
from slice_os.query.query import Query
from slice_os.search.hit_builder import HitBuilder
from slice_os.search.refinement import arranged, prepare
from slice_os.spans.passages import DocumentPart, stored_form
from slice_os.stores.candidates import StoredPassage
from slice_os.text.documents import Document
from slice_os.threads import checkpoint

if TYPE_CHECKING:
    from typing_extensions import Unpack


def scan(
    documents: Iterable[Document],
    phrases: str | Sequence[str],
    options: HitOptions = DEFAULT_SCAN,
    *,
    encoder: SpanEncoder | None = None,
    below: Callable[[Hit], None] | None = None,
    **changes: Unpack[HitKeywords],
) -> Iterator[Hit]:
    """Every hit in a stream of documents, as soon as it is found; nothing is stored.

    Without a corpus there are no term counts, so hits have no BM25 and their score is the cosine.

    Args:
        documents: read one by one; memory does not grow with their number.
        phrases: origin phrases; each is searched for on its own.
        options: a value that several scans share.
        encoder: None for the bundled default.
        below: called with each hit that fails only for its probability.
        changes: fields of `HitOptions`, such as ``threshold``, for this scan alone.

    Yields hits by document, passage, phrase and position; hits of one phrase never overlap. An
    order, or ``collapse``, needs all of them first.
    """
    options = replace(options, **changes)
    found = scan_each(documents, phrases, options, encoder or SpanEncoder(), below)
    yield from arranged((hit for _, hit in found), options)


def scan_each(
    documents: Iterable[Document],
    phrases: str | Sequence[str],
    options: HitOptions,
    encoder: SpanEncoder,
    below: Callable[[Hit], None] | None = None,
) -> Iterator[tuple[Document, Hit]]:
    """The hits of `scan` with their documents, as they come: neither ordered nor collapsed."""
    query, refine = prepare(encoder, phrases, options)
    for part in encode_documents(documents, encoder):
        for hit in refine.each(part_hits(part, query, refine.threshold), below):
            yield part.document, hit


def part_hits(
    part: DocumentPart, query: Query, threshold: float | Sequence[float]
) -> Iterator[Hit]:
    """Every hit in a part of a document, by passage, phrase and position, without the filter.

    Cosines are of the vectors that a store would keep, so that mining it finds the same. Each
    phrase may have a threshold of its own.
    """
    least = np.broadcast_to(threshold, len(query.phrases.texts)).tolist()
    for passage in part.passages:
        checkpoint()
        text = part.document.text[passage.start : passage.end]
        fields = {**part.document.metadata, **passage.metadata}
        whole = replace(stored_form(passage), metadata=fields)
        builder = HitBuilder(StoredPassage(part.document.id, text, whole), query)
        for row, own in enumerate(least):
            yield from builder.hits(row, threshold=own)
