"""A folder of vectors with a size limit, and an encoder that keeps its vectors there."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any, TypeAlias
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from slice_os.arrays import FloatArray
from slice_os.encoder.alignment import AlignedText
from slice_os.evaluation.encoders.text_encoder import Cost, TextEncoder
from slice_os.stores.local.files import folder_size
from slice_os.tables.replacing import replacing

NamedArrays: TypeAlias = dict[str, npt.NDArray[Any]]

GIGABYTE = 1_000_000_000
DEFAULT_LIMIT = 5 * GIGABYTE
# A trim leaves this much of the limit, so that not every write starts another one.
KEPT = 0.9
# A store that was used since then may be open in another process.
OPEN_SECONDS = 3_600

_ENTRY, _NAME, _STORES = ".npz", "encoder.txt", "stores"


@dataclass(frozen=True, slots=True)
class Usage:
    """The vectors in a cache of one encoder: its name when they were stored, and their key."""

    encoder: str
    identity: str
    entries: int
    size_bytes: int


def default_cache() -> Path:
    """The folder for vectors in the user's cache folder."""
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(home) if home else Path.home() / ".cache") / "slice-os" / "vectors"


class VectorCache:
    """Arrays on disk, by encoder and key; safe for several processes at once, and to delete.

    An entry appears whole or not at all. Reading one marks it as used. The local stores that
    harnesses fill are kept here, too, each in a folder of `stores`. All together may take
    ``limit`` bytes.
    """

    def __init__(self, folder: Path, limit: int = DEFAULT_LIMIT) -> None:
        self.folder = folder
        self.limit = limit
        # The first write checks the size, and then each time a fiftieth of the limit was written.
        self._unchecked = limit

    @property
    def stores(self) -> Path:
        """The folder for local stores; the user of one sets its modification time."""
        return self.folder / _STORES

    def load(self, identity: str, key: str) -> NamedArrays | None:
        """The arrays of an entry; None if there is no such entry, no longer, or a damaged one."""
        file = self._file(identity, key)
        try:
            with np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            os.utime(file)
        except (FileNotFoundError, EOFError, ValueError, BadZipFile):
            return None
        return arrays

    def store(self, identity: str, key: str, encoder: str, arrays: NamedArrays) -> None:
        """Store an entry, then delete the least recently used ones if the cache is too large."""
        file = self._file(identity, key)
        # A file that is only half written is an entry, too: of a killed process, it gets old.
        with suppress(FileNotFoundError), replacing(file) as part:
            np.savez(part, allow_pickle=False, **arrays)
        name = file.with_name(_NAME)
        if not name.exists():
            name.write_text(encoder, encoding="utf-8")
        self._unchecked += sum(array.nbytes for array in arrays.values())
        if self._unchecked >= self.limit / 50:
            self._trim()
            self._unchecked = 0

    def usage(self) -> list[Usage]:
        """The vectors of each encoder, the largest first."""
        found = []
        for folder in self._encoders():
            sizes = [size for _, _, size in self._entries(folder)]
            name = folder / _NAME
            encoder = name.read_text(encoding="utf-8") if name.is_file() else folder.name
            found.append(Usage(encoder, folder.name, len(sizes), sum(sizes)))
        return sorted(found, key=lambda one: (-one.size_bytes, one.encoder))

    def empty(self) -> None:
        """Delete all entries and stores."""
        _delete(self.stores)
        for folder in self._encoders():
            for file, _, _ in self._entries(folder):
                _delete(file)
            _delete(folder / _NAME)
            with suppress(OSError):
                folder.rmdir()

    def _trim(self) -> None:
        entries = [entry for folder in self._encoders() for entry in self._entries(folder)]
        size = sum(size for _, _, size in entries)
        if size <= self.limit:
            return
        for path, used, bytes_ in sorted(entries, key=lambda entry: entry[1]):
            if size <= KEPT * self.limit:
                return
            if path.is_dir() and used > time.time() - OPEN_SECONDS:
                continue
            _delete(path)
            size -= bytes_

    def _entries(self, folder: Path) -> Iterator[tuple[Path, float, int]]:
        """The entries of an encoder, or the stores: path, time of its last use, bytes."""
        for file in folder.iterdir():
            with suppress(FileNotFoundError):
                status = file.stat()
                if folder == self.stores and file.is_dir():
                    yield file, status.st_mtime, folder_size(file)
                elif file.suffix == _ENTRY:
                    yield file, status.st_mtime, status.st_size

    def _encoders(self) -> list[Path]:
        return [path for path in self.folder.glob("*") if path.is_dir()]

    def _file(self, identity: str, key: str) -> Path:
        return self.folder / identity / f"{key}{_ENTRY}"


def _delete(path: Path) -> None:
    """Delete a file or a store unless another process did, or holds it open and prevents it."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
        return
    with suppress(FileNotFoundError, PermissionError):
        path.unlink()


# Part of every key: increment it when the meaning of stored vectors changes.
FORMAT = "1"
PHRASES_A_FILE = 4_096
TEXTS_A_FILE = 256


class CachedEncoder(TextEncoder):
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
        return self._whole("phrases", self._encoder.phrases, texts)

    def sentences(self, texts: Sequence[str]) -> FloatArray:
        return self._whole("sentences", self._encoder.sentences, texts)

    def tokens(self, texts: Sequence[str]) -> Iterator[tuple[AlignedText, FloatArray]]:
        for block in _blocks(texts, TEXTS_A_FILE):
            stored = self._kept("tokens", block, lambda some: _pack(self._encoder.tokens(some)))
            yield from _unpack(block, stored)

    def _whole(
        self, kind: str, encode: Callable[[Sequence[str]], FloatArray], texts: Sequence[str]
    ) -> FloatArray:
        blocks = [
            self._kept(kind, block, lambda some: {"vectors": encode(some)})["vectors"]
            for block in _blocks(texts, PHRASES_A_FILE)
        ]
        return np.concatenate(blocks, dtype=np.float32) if blocks else encode(texts)

    def _kept(
        self, kind: str, texts: Sequence[str], encode: Callable[[Sequence[str]], NamedArrays]
    ) -> NamedArrays:
        """The arrays of a block, read or else encoded and stored, each time with their cost."""
        key = _key(kind, texts)
        stored = self._cache.load(self.identity, key)
        if stored is None:
            before = self._encoder.cost
            stored = encode(texts)
            cost = np.array(astuple(self._encoder.cost - before), dtype=np.float64)
            self._cache.store(self.identity, key, self.name, {"cost": cost, **stored})
        else:
            passes, tokens, seconds = stored.pop("cost").tolist()
            self._read += Cost(int(passes), int(tokens), seconds)
        return stored


def _key(kind: str, texts: Sequence[str]) -> str:
    digest = hashlib.sha256(f"{FORMAT} {kind}".encode())
    for text in texts:
        content = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d " % len(content) + content)
    return digest.hexdigest()[:32]


def _blocks(texts: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for start in range(0, len(texts), size):
        yield texts[start : start + size]


def _pack(encoded: Iterable[tuple[AlignedText, FloatArray]]) -> NamedArrays:
    items = list(encoded)
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
