"""Scanning a stream of texts for phrases, without a store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.hits.hit import Hit
from slice_os.ingest.passages import encode_documents
from slice_os.query.options import SPAN, check_threshold
from slice_os.query.query import Query
from slice_os.search.hit_builder import HitBuilder
from slice_os.search.refinement import refinement
from slice_os.search.run import make_query
from slice_os.spans.passages import DocumentPart, EncodedPassage
from slice_os.stores.candidates import StoredPassage
from slice_os.text.documents import Document
from slice_os.verifier.claims import Verifier


def scan(
    documents: Iterable[Document],
    phrases: str | Sequence[str],
    *,
    counter_phrases: Sequence[str] = (),
    threshold: float | None = None,
    encoder: SpanEncoder | None = None,
    verify: bool | None = None,
    min_probability: float | None = None,
    verifier: Verifier | None = None,
    unit: str = SPAN,
) -> Iterator[Hit]:
    """Every hit in a stream of documents, as soon as it is found; nothing is stored.

    Without a corpus there are no term counts, so hits have no BM25 and their score is the cosine.

    Args:
        documents: read one by one; memory does not grow with their number.
        phrases: origin phrases; each is searched for on its own.
        counter_phrases: hits whose words are nearer to one of these are left out; see
            `Corpus.search`.
        threshold: least cosine of a hit; None for the model's own, or for 0.45 if the probability
            decides.
        encoder: None for the bundled default.
        verify: whether the verifier reads the hits; None to do so if it knows this model.
        min_probability: least probability of a hit; None for any.
        verifier: None for the bundled one.
        unit: how wide hits are; see `Corpus.search`.

    Yields:
        Hits by document, passage, phrase and position; hits of one phrase never overlap.
    """
    encoder = encoder or SpanEncoder()
    refine = refinement(encoder, verifier, verify, min_probability)
    query = make_query(encoder, phrases, (), unit, refine.verifies, counter_phrases)
    least = refine.threshold(threshold, encoder.card.threshold)
    check_threshold(least)
    for part in encode_documents(documents, encoder):
        yield from refine.each(part_hits(part, query, least))


def part_hits(part: DocumentPart, query: Query, threshold: float) -> Iterator[Hit]:
    """Every hit in a part of a document, by passage, phrase and position.

    Args:
        part: the part, with its vectors.
        query: what to look for; its filter does not apply.
        threshold: least cosine of a hit.
    """
    for passage in part.passages:
        builder = HitBuilder(_as_stored(part.document, passage), query)
        for row in range(len(query.phrases.texts)):
            yield from builder.hits(row, threshold=threshold)


def _as_stored(document: Document, passage: EncodedPassage) -> StoredPassage:
    """The passage as a store would return it."""
    text = document.text[passage.start : passage.end]
    metadata = {**document.metadata, **passage.metadata}
    return StoredPassage(document.id, text, replace(passage, metadata=metadata))
