"""The hits of topics in stores, kept until a store or a topic changes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from threading import Lock
from typing import TypeAlias

from slice_os.corpus import Corpus
from slice_os.hits.hit import Context, Hit

Key: TypeAlias = tuple[Hashable, ...]

MOST_KEPT = 200_000
_NOWHERE = Context(0, 0, "")


class KnownHits:
    """Hits under keys, without their words; of more than 200,000 the oldest go."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: dict[Key, tuple[Hit, ...]] = {}

    def get(self, key: Key) -> tuple[Hit, ...] | None:
        """The hits under a key; None if there are none kept."""
        return self._kept.get(key)

    def keep(self, key: Key, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """Keep hits for the next time; returns them as they are kept."""
        bare = tuple(
            replace(hit, text="", context=_NOWHERE, reasons=(), matches=()) for hit in hits
        )
        with self._lock:
            self._kept[key] = bare
            while sum(map(len, self._kept.values())) > MOST_KEPT and len(self._kept) > 1:
                del self._kept[next(iter(self._kept))]
        return bare


def store_state(corpus: Corpus) -> Key:
    """What differs after every change of a store: its counts, and when its files were written."""
    info = corpus.info()
    folder = corpus.store.folder
    files = [] if folder is None else folder.glob("*.sqlite*")
    written = max((path.stat().st_mtime_ns for path in files if "-shm" not in path.name), default=0)
    return info.location, info.documents, info.passages, info.pieces, info.size_bytes, written
