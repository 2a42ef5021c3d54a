"""Vectors kept on disk, by what was encoded and by which encoder."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from slice_os.alignment import AlignedText
from slice_os.arrays import FloatArray
from slice_os.encoder import SpanEncoder
from slice_os.evaluation.encoders.base import Cost, Representation, TextEncoder

# Part of every key: count it up when what is stored changes its meaning.
FORMAT = "1"
PHRASES_A_FILE = 4_096
TEXTS_A_FILE = 256


def default_cache() -> Path:
    """Where vectors are kept unless told: in the user's folder for caches."""
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(home) if home else Path.home() / ".cache") / "slice-os" / "vectors"


class CachedEncoder:
    """An encoder that keeps its vectors; the same texts again are read from disk.

    Vectors lie in blocks of consecutive texts, a ``.npz`` file a block, each with what it cost,
    so that `cost` says what the vectors took to make and not to read.

    Args:
        encoder: makes the vectors that are missing.
        folder: where they are kept; made if missing, and safe to delete.
    """

    def __init__(self, encoder: TextEncoder, folder: Path) -> None:
        self._encoder = encoder
        self._folder = folder / encoder.identity
        self._read = Cost()

    @property
    def name(self) -> str:
        """See `TextEncoder`."""
        return self._encoder.name

    @property
    def identity(self) -> str:
        """See `TextEncoder`."""
        return self._encoder.identity

    @property
    def representation(self) -> Representation:
        """See `TextEncoder`."""
        return self._encoder.representation

    @property
    def spans(self) -> SpanEncoder | None:
        """See `TextEncoder`."""
        return self._encoder.spans

    @property
    def cost(self) -> Cost:
        """What all vectors that were asked for took, when they were made."""
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
            file = self._file("tokens", block)
            stored = self._load(file)
            if stored is None:
                before = self._encoder.cost
                items = list(self._encoder.tokens(block))
                _store(file, self._encoder.cost - before, **_pack(items))
            else:
                items = _unpack(block, stored)
            yield from items

    def _whole(
        self, kind: str, encode: Callable[[Sequence[str]], FloatArray], texts: Sequence[str]
    ) -> FloatArray:
        """Vectors of whole texts, a block after the other."""
        blocks = []
        for block in _blocks(texts, PHRASES_A_FILE):
            file = self._file(kind, block)
            stored = self._load(file)
            if stored is None:
                before = self._encoder.cost
                blocks.append(encode(block))
                _store(file, self._encoder.cost - before, vectors=blocks[-1])
            else:
                blocks.append(stored["vectors"].astype(np.float32, copy=False))
        return np.concatenate(blocks) if blocks else encode(texts)

    def _file(self, kind: str, texts: Sequence[str]) -> Path:
        digest = hashlib.sha256(f"{FORMAT} {kind}".encode())
        for text in texts:
            content = text.encode("utf-8", "surrogatepass")
            digest.update(b"%d " % len(content) + content)
        return self._folder / f"{digest.hexdigest()[:32]}.npz"

    def _load(self, file: Path) -> dict[str, npt.NDArray[np.generic]] | None:
        if not file.is_file():
            return None
        with np.load(file, allow_pickle=False) as archive:
            stored = {name: archive[name] for name in archive.files}
        passes, tokens, seconds = stored.pop("cost").tolist()
        self._read += Cost(int(passes), int(tokens), seconds)
        return stored


def _blocks(texts: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), size):
        yield texts[start : start + size]


def _pack(items: Sequence[tuple[AlignedText, FloatArray]]) -> dict[str, npt.NDArray[np.generic]]:
    return {
        "ids": np.concatenate([aligned.piece_ids for aligned, _ in items]),
        "words": np.concatenate([aligned.words for aligned, _ in items]),
        "n_words": np.array([len(aligned.words) for aligned, _ in items]),
        "vectors": np.concatenate([vectors for _, vectors in items]),
        "n_pieces": np.array([len(vectors) for _, vectors in items]),
    }


def _unpack(
    texts: Sequence[str], stored: dict[str, npt.NDArray[np.generic]]
) -> list[tuple[AlignedText, FloatArray]]:
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


def _store(file: Path, cost: Cost, **arrays: npt.NDArray[np.generic]) -> None:
    """Write a block so that it appears whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            numbers = np.array([cost.passes, cost.tokens, cost.seconds], dtype=np.float64)
            np.savez(stream, allow_pickle=False, cost=numbers, **arrays)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
