"""What lies in an index: documents for passages, and records of documents and sources."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

from slice_os.candidates import StoredPassage
from slice_os.documents import Document
from slice_os.passages import EncodedPassage
from slice_os.quantisation import dequantise, quantise
from slice_os.selection import span_vectors
from slice_os.stores.opensearch.codec import pack, unpack
from slice_os.stores.opensearch.search_bodies import index_vectors
from slice_os.stores.opensearch.settings import IndexSettings

# Keywords take 32,766 bytes, a code point at most four of them; see "ignore_above" in the mapping.
LONGEST_ID = 8_191


@dataclass(frozen=True, eq=False, slots=True)
class FetchedPassage:
    """A passage read from the index; the key that evidence knows it by.

    Attributes:
        key: its id in the index.
        passage: the passage.
        bm25: of each phrase, by its row.
    """

    key: str
    passage: StoredPassage
    bm25: dict[int, float]


def document_key(doc_id: str) -> str:
    """The id of a document's record: short, whatever the document's own id."""
    return hashlib.sha256(doc_id.encode()).hexdigest()[:32]


def passage_key(doc_id: str, ordinal: int) -> str:
    """The id of a document's passage; the same in every run."""
    return f"{document_key(doc_id)}-{ordinal}"


def source_key(source: str) -> str:
    """The id of a source's record."""
    return f"source-{document_key(source)}"


def passage_source(
    document: Document, ordinal: int, passage: EncodedPassage, gap: str, settings: IndexSettings
) -> dict[str, Any]:
    """The document that stands for a passage.

    Args:
        document: whose passage it is.
        ordinal: its number there, from 0.
        passage: the passage.
        gap: white space between the passage before and this one, so that the whole text of
            the document can be had again.
        settings: of the index.
    """
    return {
        "kind": "passage",
        "doc_id": document.id,
        "ordinal": ordinal,
        "start": passage.start,
        "end": passage.end,
        "n_words": len(passage.words),
        "n_pieces": len(passage.vectors),
        "gap": gap,
        "text": document.text[passage.start : passage.end],
        "metadata": {**document.metadata, **passage.metadata},
        "tokens": pack(passage),
        "spans": span_entries(
            replace(passage, vectors=dequantise(*quantise(passage.vectors))), settings
        ),
    }


def span_entries(passage: EncodedPassage, settings: IndexSettings) -> list[dict[str, Any]]:
    """The spans of a passage that its index holds.

    Args:
        passage: with its vectors as they are after quantisation, so that the same spans come
            of a passage that is read back.
        settings: of the index.
    """
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
    ]


def document_source(document: Document, passages: int, tail: str) -> dict[str, Any]:
    """The record of a document; it is written once all its passages are stored.

    Args:
        document: the document.
        passages: how many passages it has.
        tail: white space after the last one; the whole text if there is none.
    """
    return {
        "kind": "document",
        "doc_id": document.id,
        "source": document.source,
        "fingerprint": document.fingerprint,
        "passages": passages,
        "gap": tail,
    }


def source_record(source: str, signature: str) -> dict[str, Any]:
    """The record of a source that has been read to its end in the state of the signature."""
    return {"kind": "source", "source": source, "signature": signature}


def fetched(hit: dict[str, Any]) -> FetchedPassage:
    """Read a passage from a hit of `search_bodies.candidates` or `search_bodies.walk`."""
    source = hit["_source"]
    encoded = unpack(
        hit["fields"]["tokens"][0], source["start"], source["end"], source.get("metadata", {})
    )
    return FetchedPassage(
        key=hit["_id"],
        passage=StoredPassage(source["doc_id"], source["text"], encoded),
        bm25={int(row): score for row, score in hit.get("matched_queries", {}).items()},
    )
