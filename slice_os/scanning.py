"""Scanning texts for phrases without any store, as a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from slice_os.documents import Document
from slice_os.encoder import SpanEncoder
from slice_os.ingest.passages import encode_documents
from slice_os.mining import make_query, place, probability
from slice_os.results import Context, Hit
from slice_os.scoring import best_spans


def scan(
    documents: Iterable[Document],
    phrases: str | Sequence[str],
    *,
    threshold: float | None = None,
    encoder: SpanEncoder | None = None,
) -> Iterator[Hit]:
    """Every hit in a stream of documents, as soon as it is found; nothing is stored.

    There is no corpus to count terms in, so hits carry no BM25 and are scored by their cosine.

    Args:
        documents: read one after another; memory does not grow with their number.
        phrases: origin phrases; each is looked for by itself.
        threshold: least cosine of a hit; None for the model's own.
        encoder: None for the bundled default.

    Yields:
        Hits by document, passage, phrase and place; those of one phrase never overlap.
    """
    encoder = encoder or SpanEncoder()
    query = make_query(encoder, phrases)
    least = encoder.card.threshold if threshold is None else threshold
    for part in encode_documents(documents, encoder):
        document = part.document
        for passage in part.passages:
            text = document.text[passage.start : passage.end]
            context = Context(passage.start, passage.end, text)
            for row, phrase in enumerate(query.phrases.texts):
                spans = best_spans(passage, query, row, least)
                for span in sorted(spans, key=lambda span: span.word):
                    start, end = place(passage, span)
                    yield Hit(
                        phrase=phrase,
                        doc_id=document.id,
                        start=start,
                        end=end,
                        text=document.text[start:end],
                        cosine=span.cosine,
                        bm25=None,
                        score=span.cosine,
                        metadata={**document.metadata, **passage.metadata},
                        context=context,
                        probability=probability(query, row, span),
                    )
