"""An encoder that keeps its vectors on disk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.encoder.alignment import AlignedText
from slice_os.evaluation.encoders.text_encoder import Cost, TextEncoder
from slice_os.evaluation.encoders.vector_cache import NamedArrays, VectorCache

# Part of every key: increment it when the meaning of stored vectors changes.
FORMAT = "1"
PHRASES_A_FILE = 4_096
TEXTS_A_FILE = 256


class CachedEncoder:
    """An encoder that keeps its vectors: the same texts are read from disk the next time.

    Consecutive texts are stored in blocks, each with what it cost to encode, so that `cost` is
    the same whether vectors are computed or read.
    """

    def __init__(self, encoder: TextEncoder, cache: VectorCache) -> None:
        self.name = encoder.name
        self.identity = encoder.identity
        self.representation = encoder.representation
        self.spans = encoder.spans
        self._encoder = encoder
        self._cache = cache
        self._read = Cost()

    @property
    def cost(self) -> Cost:
        """The cost of all requested vectors when they were computed."""
        return self._encoder.cost + self._read

    def phrases(self, texts: Sequence[str]) -> FloatArray:
        """See `TextEncoder.phrases`."""
        return self._whole("phrases", self._encoder.phrases, texts)

    def sentences(self, texts: Sequence[str]) -> FloatArray:
        """See `TextEncoder.sentences`."""
        return self._whole("sentences", self._encoder.sentences, texts)

    def tokens(self, texts: Sequence[str]) -> Iterator[tuple[AlignedText, FloatArray]]:
        """See `TextEncoder.tokens`."""
        for block in _blocks(texts, TEXTS_A_FILE):
            key = _key("tokens", block)
            stored = self._load(key)
            if stored is None:
                before = self._encoder.cost
                items = list(self._encoder.tokens(block))
                self._store(key, self._encoder.cost - before, _pack(items))
            else:
                items = _unpack(block, stored)
            yield from items

    def _whole(
        self, kind: str, encode: Callable[[Sequence[str]], FloatArray], texts: Sequence[str]
    ) -> FloatArray:
        """Vectors of whole texts, block by block."""
        blocks = []
        for block in _blocks(texts, PHRASES_A_FILE):
            key = _key(kind, block)
            stored = self._load(key)
            if stored is None:
                before = self._encoder.cost
                blocks.append(encode(block))
                self._store(key, self._encoder.cost - before, {"vectors": blocks[-1]})
            else:
                blocks.append(stored["vectors"].astype(np.float32, copy=False))
        return np.concatenate(blocks) if blocks else encode(texts)

    def _load(self, key: str) -> NamedArrays | None:
        stored = self._cache.load(self.identity, key)
        if stored is not None:
            passes, tokens, seconds = stored.pop("cost").tolist()
            self._read += Cost(int(passes), int(tokens), seconds)
        return stored

    def _store(self, key: str, cost: Cost, arrays: NamedArrays) -> None:
        numbers = np.array([cost.passes, cost.tokens, cost.seconds], dtype=np.float64)
        self._cache.store(self.identity, key, self.name, {"cost": numbers, **arrays})


def _key(kind: str, texts: Sequence[str]) -> str:
    digest = hashlib.sha256(f"{FORMAT} {kind}".encode())
    for text in texts:
        content = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d " % len(content) + content)
    return digest.hexdigest()[:32]


def _blocks(texts: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), size):
        yield texts[start : start + size]


def _pack(items: Sequence[tuple[AlignedText, FloatArray]]) -> NamedArrays:
    return {
        "ids": np.concatenate([aligned.piece_ids for aligned, _ in items]),
        "words": np.concatenate([aligned.words for aligned, _ in items]),
        "n_words": np.array([len(aligned.words) for aligned, _ in items]),
        "vectors": np.concatenate([vectors for _, vectors in items]),
        "n_pieces": np.array([len(vectors) for _, vectors in items]),
    }


def _unpack(texts: Sequence[str], stored: NamedArrays) -> list[tuple[AlignedText, FloatArray]]:
    at_word = np.cumsum(stored["n_words"])[:-1]
    at_piece = np.cumsum(stored["n_pieces"])[:-1]
    parts = zip(
        texts,
        np.split(stored["ids"], at_piece),
        np.split(stored["words"], at_word),
        np.split(stored["vectors"], at_piece),
        strict=True,
    )
    return [(AlignedText(text, ids, words), vectors) for text, ids, words, vectors in parts]
