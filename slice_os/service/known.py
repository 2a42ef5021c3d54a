"""What is known of stores, kept until a store, or a topic, changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sized
from contextlib import suppress
from threading import Lock
from typing import Generic, TypeAlias, TypeVar

from slice_os.corpus import Corpus
from slice_os.stores.protocol import StoreInfo

T = TypeVar("T", bound=Sized)
Key: TypeAlias = tuple[Hashable, ...]

MOST_ITEMS = 100_000
MOST_VALUES = 1_000


class Known(Generic[T]):
    """Values, such as the hits of a topic, in the last state of each that was asked for.

    Of more than 100,000 items, or 1,000 values, those kept longest ago go; the last value stays.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: dict[Key, tuple[Key, T]] = {}

    def get(self, key: Key, state: Key) -> T | None:
        """A value; None if none is kept of this state."""
        kept = self._kept.get(key)
        return kept[1] if kept and kept[0] == state else None

    def keep(self, key: Key, state: Key, value: T) -> T:
        """Keep a value for the next time."""
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = state, value
            while len(self._kept) > MOST_VALUES or (
                len(self._kept) > 1 and self._items > MOST_ITEMS
            ):
                del self._kept[next(iter(self._kept))]
        return value

    def of(self, key: Key, state: Key, make: Callable[[], T]) -> T:
        """The value of this state, made if none is kept."""
        kept = self.get(key, state)
        return self.keep(key, state, make()) if kept is None else kept

    @property
    def _items(self) -> int:
        return sum(len(value) for _, value in self._kept.values())


def store_state(corpus: Corpus, info: StoreInfo) -> Key:
    """A key that changes whenever the store does: its counts, and when its files were written."""
    folder, written = corpus.store.folder, 0
    for path in folder.glob("*.sqlite*") if folder else ():
        with suppress(FileNotFoundError):  # SQLite deletes its log when nobody reads it
            written = max(written, 0 if "-shm" in path.name else path.stat().st_mtime_ns)
    return info.location, info.documents, info.passages, info.pieces, info.size_bytes, written
