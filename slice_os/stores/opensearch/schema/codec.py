"""The binary form of a passage's words and token vectors, as stored in the field ``tokens``.

Passages are stored as `joined` returns them; what follows calls their stretches pieces.

Little-endian: a header (version 2, width of the word table's numbers in bytes, words in
the longest span, bits of a vector component, dimension, words, pieces, norm step), the word table
(start and end relative to the passage, first piece and one past the last), the norms (uint16, a
row per word and a column per span length: the length of a span's summed vectors over its number of
words, in norm steps; 0 for a zero vector, and for a span that goes from one turn to another, so
that its cosine counts as 0), a float32 scale per piece, and the int8 token vectors.
The server's scripts read it, too; they cannot compute norms, since their loops are limited.
"""

from __future__ import annotations

import struct
from base64 import b64encode, urlsafe_b64decode
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from slice_os.arrays import FloatArray
from slice_os.errors import StoreError
from slice_os.spans.cosines import span_norms
from slice_os.spans.passages import EncodedPassage, dequantise, joined, quantise
from slice_os.stores.opensearch.schema.settings import IndexSettings
from slice_os.text.documents import Metadata

_HEADER = struct.Struct("<BBBBHIIf")
_VERSION = 2
_BITS = 8
_NORM_STEPS = 65_535


def stored_form(passage: EncodedPassage) -> EncodedPassage:
    """The passage as `unpack` returns it: joined and quantised; idempotent."""
    one = joined(passage)
    return replace(one, vectors=dequantise(*quantise(one.vectors)))


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
    """Unit vectors as stored in the index's ``vec`` field: projected, then quantised.

    Cosine ignores lengths, so each byte vector can have its own scale.

    Args:
        vectors: ``(n, dimension)`` unit rows.
        settings: of the index.

    Returns:
        ``(n, settings.dimensions)`` int8 or float32.
    """
    if settings.projection is not None:
        vectors = vectors @ settings.projection[: settings.dimensions].T
    return quantise(vectors)[0] if settings.vectors == "byte" else vectors
