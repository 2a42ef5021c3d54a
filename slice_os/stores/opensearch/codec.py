"""The binary form of a passage's words and token vectors, as stored in the field ``tokens``.

Little-endian: a header (version, width of the word table's numbers in bytes, dimension, words,
pieces), the word table (start and end relative to the passage, first piece and one past the last),
a float32 scale per piece, and the int8 token vectors.
"""

from __future__ import annotations

import struct
from base64 import b64encode, urlsafe_b64decode

import numpy as np

from slice_os.documents import Metadata
from slice_os.errors import StoreError
from slice_os.passages import EncodedPassage
from slice_os.quantisation import dequantise, quantise

_HEADER = struct.Struct("<BBHII")
_VERSION = 1


def pack(passage: EncodedPassage) -> str:
    """A passage's words and quantised vectors as base64."""
    vectors, scales = quantise(passage.vectors)
    words = passage.words - np.array([passage.start, passage.start, 0, 0])
    width = 2 if int(words.max(initial=0)) < 1 << 16 else 4
    header = _HEADER.pack(_VERSION, width, vectors.shape[1], len(words), len(vectors))
    table = words.astype(f"<u{width}").tobytes()
    return b64encode(header + table + scales.astype("<f4").tobytes() + vectors.tobytes()).decode()


def unpack(encoded: str, start: int, end: int, metadata: Metadata) -> EncodedPassage:
    """The passage again, with its vectors as they are after quantisation.

    Args:
        encoded: the result of `pack`, as OpenSearch returns it.
        start: first code point of the passage in its document.
        end: one past the last.
        metadata: of the passage.

    Raises:
        StoreError: if another version wrote the bytes.
    """
    # OpenSearch returns doc values URL-safe and without padding.
    raw = urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4))
    version, width, dimension, n_words, n_pieces = _HEADER.unpack_from(raw)
    if version != _VERSION:
        raise StoreError(f"token vectors of version {version}; upgrade slice-os to read them")
    table_end = _HEADER.size + 4 * width * n_words
    scales_end = table_end + 4 * n_pieces
    table = np.frombuffer(raw[_HEADER.size : table_end], f"<u{width}").reshape(n_words, 4)
    scales = np.frombuffer(raw[table_end:scales_end], "<f4")
    vectors = np.frombuffer(raw[scales_end:], np.int8).reshape(n_pieces, dimension)
    return EncodedPassage(
        start=start,
        end=end,
        words=table.astype(np.int64) + np.array([start, start, 0, 0]),
        vectors=dequantise(vectors, scales),
        metadata=metadata,
    )
