"""Noticing that a location has come to stand for another store than the one that was opened."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from time import monotonic
from typing import Generic, TypeVar

from slice_os.stores.protocol import ReplaceableStore

T = TypeVar("T")

SECONDS = 5.0
"""For so long a server is not asked again what a location stands for."""


class Asking:
    """When a server was asked last what a location stands for."""

    def __init__(self) -> None:
        self._asked = monotonic()

    def is_due(self) -> bool:
        """Whether it should be asked again, which then counts as done."""
        due = monotonic() - self._asked >= SECONDS
        if due:
            self._asked = monotonic()
        return due


class Current(Generic[T]):
    """What is made of the store at a location, made again after that stands for another store.

    Whoever still uses the former one can go on; it is closed after the last one.

    Args:
        make: opens the store, and returns what is made of it.
        store_of: the store of what was made; None if it is never replaced.
    """

    def __init__(self, make: Callable[[], T], store_of: Callable[[T], object]) -> None:
        self._make = make
        self._store_of = store_of
        self._lock = Lock()
        self._made: T | None = None

    def get(self) -> T:
        """What is made of the store; blocks while it is opened."""
        with self._lock:
            if self._made is None or self._is_replaced(self._store_of(self._made)):
                self._made = self._make()
                self._asking = Asking()
            return self._made

    def take(self) -> T | None:
        """What was made, if any, which is then no longer kept."""
        with self._lock:
            made, self._made = self._made, None
            return made

    def _is_replaced(self, store: object) -> bool:
        if not isinstance(store, ReplaceableStore) or (
            store.asks_server and not self._asking.is_due()
        ):
            return False
        return store.replaced()
