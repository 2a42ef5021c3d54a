"""The stores that a service answers from, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock

from slice_os.corpus import Corpus
from slice_os.service.encoding import Encoders
from slice_os.service.problems import Problem
from slice_os.service.stopping import StoppableVerifier, check_stopped
from slice_os.stores.registry import open_store
from slice_os.verifier.registry import chosen_verifier

# A request that waits to write looks this often whether it should stop.
_LOOK_SECONDS = 0.1


class ServedStores:
    """Stores by name, each opened when it is first used.

    Args:
        locations: folder or address of each.
        encoders: of all stores.
    """

    def __init__(self, locations: Mapping[str, str], encoders: Encoders) -> None:
        self.locations = dict(locations)
        self._encoders = encoders
        self._opening = {name: Lock() for name in self.locations}
        self._open: dict[str, Corpus] = {}
        self._writers = {name: Lock() for name in self.locations}

    @property
    def names(self) -> list[str]:
        """The names, in the order given."""
        return list(self.locations)

    def get(self, name: str | None = None) -> Corpus:
        """The corpus of a store; blocks while it is opened.

        Args:
            name: of the store; may be None if there is one alone.

        Raises:
            Problem: 404 if there is no such store, 400 if a name is needed.
            StoreError: if the store cannot be opened.
        """
        chosen = self._chosen(name)
        # One store that does not answer must not keep the others from being opened.
        with self._opening[chosen]:
            if chosen not in self._open:
                self._open[chosen] = self._opened(self.locations[chosen])
            return self._open[chosen]

    @contextmanager
    def writing(self, name: str | None = None) -> Iterator[Corpus]:
        """The corpus of a store, for one request that writes at a time.

        Args:
            name: as for `get`.

        Raises:
            Stopped: if the work should stop while it waits.
        """
        corpus = self.get(name)
        lock = self._writers[self._chosen(name)]
        while not lock.acquire(timeout=_LOOK_SECONDS):
            check_stopped()
        try:
            yield corpus
        finally:
            lock.release()

    def close(self) -> None:
        """Close all stores."""
        for name, opening in self._opening.items():
            with opening:
                if (corpus := self._open.pop(name, None)) is not None:
                    corpus.store.close()

    def _opened(self, location: str) -> Corpus:
        store = open_store(location)
        try:
            info = store.info()
            encoder = self._encoders.of(info.encoder, info.location)
            verifier = chosen_verifier(None, None, encoder)
        except BaseException:
            store.close()
            raise
        return Corpus(store, encoder, verifier=verifier and StoppableVerifier(verifier))

    def _chosen(self, name: str | None) -> str:
        if name is None:
            if len(self.locations) == 1:
                return next(iter(self.locations))
            raise Problem(400, "store_needed", f"name a store; there are {self._listing()}")
        if name not in self.locations:
            raise Problem(404, "no_such_store", f"no store {name!r}; there are {self._listing()}")
        return name

    def _listing(self) -> str:
        return ", ".join(map(repr, self.locations)) or "none"
