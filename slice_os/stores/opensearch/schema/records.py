"""Contents of an index: passages, and records of documents and sources."""

from __future__ import annotations

import hashlib
from typing import Any

from slice_os.spans.passages import EncodedPassage
from slice_os.stores.candidates import StoredPassage
from slice_os.stores.opensearch.schema.codec import index_vectors, pack, stored_form, unpack
from slice_os.stores.opensearch.schema.settings import IndexSettings
from slice_os.stores.opensearch.schema.span_policy import span_vectors
from slice_os.text.documents import Document

# A keyword has at most 32,766 bytes, a code point up to four; see "ignore_above" in the mapping.
LONGEST_ID = 8_191


def document_key(doc_id: str) -> str:
    """The id of a document's record; short, however long the document's own id is."""
    return hashlib.sha256(doc_id.encode()).hexdigest()[:32]


def passage_key(doc_id: str, ordinal: int) -> str:
    """The id of a document's passage, the same in every run."""
    return f"{document_key(doc_id)}-{ordinal}"


def source_key(source: str) -> str:
    """The id of a source's record."""
    return f"source-{document_key(source)}"


def passage_source(
    document: Document, ordinal: int, passage: EncodedPassage, gap: str, settings: IndexSettings
) -> dict[str, Any]:
    """The record of a passage.

    Args:
        document: that it belongs to.
        ordinal: its number in the document, from 0.
        passage: the passage.
        gap: the text between the previous passage and this one, to restore the document's.
        settings: of the index.
    """
    stored = stored_form(passage)
    return {
        "kind": "passage",
        "doc_id": document.id,
        "ordinal": ordinal,
        "start": passage.start,
        "end": passage.end,
        "n_words": len(passage.words),
        "n_pieces": len(stored.vectors),
        "gap": gap,
        "text": document.text[passage.start : passage.end],
        "metadata": {**document.metadata, **passage.metadata},
        "tokens": pack(stored, settings.encoder.max_words),
        "spans": span_entries(stored, settings),
    }


def span_entries(passage: EncodedPassage, settings: IndexSettings) -> list[dict[str, Any]]:
    """The indexed spans of a passage in its `stored_form`, as one read from an index has it."""
    layout = passage.layout
    spans = settings.span_policy.select(passage.vectors, layout, settings.encoder.max_words)
    vectors = index_vectors(span_vectors(passage.vectors, layout, spans), settings)
    return [
        {
            "start": int(passage.words[first, 0]),
            "end": int(passage.words[end - 1, 1]),
            "vec": vector,
        }
        for (first, end), vector in zip(spans, vectors, strict=True)
        # Cosine does not know a zero vector: OpenSearch would reject the passage.
        if vector.any()
    ]


def document_source(document: Document, passages: int, tail: str) -> dict[str, Any]:
    """The record of a document, written once all its passages are stored.

    ``tail`` is the white space after the last one, or the whole text if there is no passage.
    """
    return {
        "kind": "document",
        "doc_id": document.id,
        "source": document.source,
        "fingerprint": document.fingerprint,
        "passages": passages,
        "gap": tail,
    }


def stored_passage(hit: dict[str, Any]) -> StoredPassage:
    """The passage of a hit with what `searches.with_content` requests."""
    source = hit["_source"]
    encoded = unpack(
        hit["fields"]["tokens"][0], source["start"], source["end"], source.get("metadata", {})
    )
    return StoredPassage(source["doc_id"], source["text"], encoded)


def named_scores(hit: dict[str, Any]) -> dict[int, float]:
    """The BM25 of a hit by row of the phrase; phrases without a match are missing."""
    return {int(row): score for row, score in hit.get("matched_queries", {}).items()}
