"""The hits of topics in stores, kept until a store or a topic changes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from threading import Lock
from typing import TypeAlias

from slice_os.corpus import Corpus
from slice_os.hits.hit import Hit

Key: TypeAlias = tuple[Hashable, ...]

MOST_KEPT = 100_000
MOST_TOPICS = 1_000


class KnownHits:
    """Hits of topics in the last state of each that was asked for.

    Of more than 100,000 hits, or 1,000 topics, those kept longest ago go; the last topic stays.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: dict[Key, tuple[Key, Sequence[Hit]]] = {}

    def get(self, topic: Key, state: Key) -> Sequence[Hit] | None:
        """The hits of a topic; None if none are kept of this state."""
        known, hits = self._kept.get(topic, ((), ()))
        return hits if known == state else None

    def keep(self, topic: Key, state: Key, hits: Sequence[Hit]) -> None:
        """Keep hits for the next time."""
        with self._lock:
            self._kept.pop(topic, None)
            self._kept[topic] = state, hits
            while len(self._kept) > MOST_TOPICS or (len(self._kept) > 1 and self._hits > MOST_KEPT):
                del self._kept[next(iter(self._kept))]

    @property
    def _hits(self) -> int:
        return sum(len(hits) for _, hits in self._kept.values())


def store_state(corpus: Corpus) -> Key:
    """A key that changes whenever the store does: its counts, and when its files were written."""
    info = corpus.info()
    folder = corpus.store.folder
    files = [] if folder is None else folder.glob("*.sqlite*")
    written = max((path.stat().st_mtime_ns for path in files if "-shm" not in path.name), default=0)
    return info.location, info.documents, info.passages, info.pieces, info.size_bytes, written
