"""Contents of an index: records of passages, documents and sources.

The field ``tokens`` has the words and token vectors of a passage, as `joined` returns it; what
follows calls its stretches pieces. Little-endian: a header (version 2, width of the word table's
numbers in bytes, words in the longest span, bits of a vector component, dimension, words, pieces,
norm step), the word table (start and end relative to the passage, first piece and one past the
last), the norms (uint16, a row per word and a column per span length: the length of a span's
summed vectors over its number of words, in norm steps; 0 for a zero vector, and for a span that
goes from one turn to another, so that its cosine counts as 0), a float32 scale per piece, and the
int8 token vectors. The server's scripts read it, too; they cannot compute norms, since their loops
are limited.
"""

from __future__ import annotations

import hashlib
import struct
from base64 import b64encode, urlsafe_b64decode
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from slice_os.arrays import FloatArray
from slice_os.errors import StoreError
from slice_os.spans.cosines import span_norms
from slice_os.spans.passages import EncodedPassage, dequantise, quantise, stored_form
from slice_os.stores.candidates import StoredPassage
from slice_os.stores.cluster.schema.settings import IndexSettings
from slice_os.stores.cluster.schema.span_policy import span_vectors
from slice_os.text.documents import Document, Metadata
from slice_os.text.passage_layout import layout_of

_HEADER = struct.Struct("<BBBBHIIf")
_VERSION = 2
_BITS = 8
_NORM_STEPS = 65_535

# A keyword has at most 32,766 bytes, a code point up to four; see "ignore_above" in the mapping.
LONGEST_ID = 8_191


def pack(passage: EncodedPassage, max_words: int) -> str:
    """Words, span norms and quantised vectors of a passage in its `stored_form`, as base64."""
    vectors, scales = quantise(passage.vectors)
    words = passage.words - np.array([passage.start, passage.start, 0, 0])
    table = words.astype("<u2" if words.max(initial=0) < 1 << 16 else "<u4")
    # A short passage has no spans beyond its own length.
    max_words = min(max_words, len(table))
    lengths = np.arange(1, max_words + 1, dtype=np.float32)
    norms = span_norms(dequantise(vectors, scales), passage.layout, max_words) / lengths
    norms[np.isinf(norms)] = 0
    step = np.float32(norms.max(initial=0) / _NORM_STEPS)
    steps = np.rint(norms / step) if step > 0 else np.zeros_like(norms)
    shape = (vectors.shape[1], len(table), len(vectors))
    header = _HEADER.pack(_VERSION, table.itemsize, max_words, _BITS, *shape, step)
    arrays = (table, steps.astype("<u2"), scales.astype("<f4"), vectors)
    return b64encode(header + b"".join(array.tobytes() for array in arrays)).decode()


def unpack(encoded: str, start: int, end: int, metadata: Metadata) -> EncodedPassage:
    """The passage again, with its vectors as they are after quantisation.

    Norms are left to the scripts: computed from the vectors, they are as exact as a local store's.

    ``start`` and ``end`` are code points of the document.

    Raises a `StoreError` if another version wrote the bytes.
    """
    # OpenSearch returns doc values URL-safe and without padding.
    raw = urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
    if raw[0] != _VERSION or raw[3] != _BITS:
        raise StoreError(
            f"token vectors of version {raw[0]}; upgrade slice-os, or ingest again into a new index"
        )
    _, width, max_words, _, dimension, n_words, n_pieces, _ = _HEADER.unpack_from(raw)
    at = _HEADER.size

    def take(kind: npt.DTypeLike, rows: int, columns: int) -> npt.NDArray[Any]:
        nonlocal at
        found = np.frombuffer(raw, kind, rows * columns, at).reshape(rows, columns)
        at += found.nbytes
        return found

    table = take(f"<u{width}", n_words, 4)
    at += 2 * n_words * max_words
    scales = take("<f4", n_pieces, 1)[:, 0]
    vectors = take(np.int8, n_pieces, dimension)
    return EncodedPassage(
        start=start,
        end=end,
        words=table.astype(np.int64) + np.array([start, start, 0, 0]),
        vectors=dequantise(vectors, scales),
        metadata=metadata,
    )


def index_vectors(vectors: FloatArray, settings: IndexSettings) -> npt.NDArray[Any]:
    """``(n, dimension)`` unit rows as the field ``vec`` has them: projected, then quantised.

    Cosine ignores lengths, so each byte vector can have its own scale.

    Returns ``(n, settings.dimensions)`` int8 or float32.
    """
    if settings.projection is not None:
        vectors = vectors @ settings.projection[: settings.dimensions].T
    return quantise(vectors)[0] if settings.vectors == "byte" else vectors


def document_key(doc_id: str) -> str:
    """The id of a document's record; short, however long the document's own id is."""
    return hashlib.sha256(doc_id.encode()).hexdigest()[:32]


def passage_key(doc_id: str, ordinal: int) -> str:
    """The id of a passage by its document and ordinal."""
    return f"{document_key(doc_id)}-{ordinal}"


def source_key(source: str) -> str:
    """The id of a source's record."""
    return f"source-{document_key(source)}"


def passage_source(
    document: Document, ordinal: int, passage: EncodedPassage, gap: str, settings: IndexSettings
) -> dict[str, Any]:
    """The record of a passage by its ordinal, one more than that of the passage before it.

    The gap is the text between the previous passage and this one, to restore the document's.
    """
    stored = stored_form(passage)
    text = document.text[passage.start : passage.end]
    return {
        "kind": "passage",
        "doc_id": document.id,
        "ordinal": ordinal,
        "start": passage.start,
        "end": passage.end,
        "n_words": len(passage.words),
        "n_pieces": len(stored.vectors),
        "gap": gap,
        "text": text,
        # Its terms, with a word over two lines as one.
        "reading": layout_of(passage.metadata, passage.start).reading(text).text,
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


def document_source(document: Document, ordinals: range, tail: str) -> dict[str, Any]:
    """The record of a document, written once its passages with these ordinals are stored.

    ``tail`` is the white space after the last one, or the whole text if there is no passage, which
    would have the metadata.
    """
    return {
        **({} if ordinals else {"metadata": document.metadata}),
        "kind": "document",
        "doc_id": document.id,
        "source": document.source,
        "fingerprint": document.fingerprint,
        "passages": len(ordinals),
        "ordinal": ordinals.start,
        "gap": tail,
    }


def ordinals_of(record: Mapping[str, Any]) -> range:
    """The ordinals of a document's passages; records of earlier releases begin at 0."""
    first = record.get("ordinal", 0)
    return range(first, first + record["passages"])


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
