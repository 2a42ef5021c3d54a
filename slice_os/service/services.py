"""Shared by all requests: stores, encoders, threads, topics, labels and keys."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from threading import Lock
from typing import Annotated, Any

from fastapi import Depends, Request

from slice_os.corpus import Corpus
from slice_os.encoder.model_folder import ModelCard, made_by
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import SliceError
from slice_os.hits.hit import Hit
from slice_os.labels.label import Label, known_to
from slice_os.service.asgi.keys import read_keys
from slice_os.service.asgi.problems import Problem
from slice_os.service.asgi.work import WorkPool
from slice_os.service.known import Known
from slice_os.service.settings import ServiceSettings
from slice_os.stores.current import Current
from slice_os.stores.registry import open_store
from slice_os.threads import checkpoint
from slice_os.topics.folder import TopicsFolder
from slice_os.topics.journal import LabelJournal
from slice_os.topics.work import Work
from slice_os.verifier.registry import chosen_verifier

# Seconds after which a request that waits to write checks whether it should stop.
_CHECK_SECONDS = 0.1


class Encoders:
    """The encoders by their id, each loaded once."""

    def __init__(self, model: str | None = None) -> None:
        self._model = model
        self._loading = Lock()
        self._loaded: dict[str, SpanEncoder] = {}

    def of(self, card: ModelCard, location: str) -> SpanEncoder:
        """The encoder that made a store.

        Raises a `StoreError` if it is neither the given one nor a bundled one.
        """
        with self._loading:
            if card.encoder_id not in self._loaded:
                folder = made_by(card, location, self._model)
                self._loaded[card.encoder_id] = SpanEncoder(folder)
            return self._loaded[card.encoder_id]

    def default(self) -> SpanEncoder:
        """The first encoder that a store needed, or else the given or the bundled one."""
        with self._loading:
            if not self._loaded:
                encoder = SpanEncoder(self._model)
                self._loaded[encoder.card.encoder_id] = encoder
            return next(iter(self._loaded.values()))


class ServedStores:
    """Stores by name, each opened when it is first used."""

    def __init__(self, settings: ServiceSettings, encoders: Encoders) -> None:
        self._verifier = settings.verifier
        self._encoders = encoders
        # One store that does not answer must not keep the others from being opened.
        self._current = {
            name: Current(partial(self._opened, location), lambda corpus: corpus.store)
            for name, location in settings.stores.items()
        }
        self._writers = {name: Lock() for name in self._current}

    @property
    def names(self) -> list[str]:
        """The names, in the order given."""
        return list(self._current)

    def get(self, name: str | None = None) -> Corpus:
        """The corpus of a store, or of the only one; blocks while it is opened.

        It is opened again after its location has come to stand for another one; see `Current`.

        Raises:
            Problem: 404 if there is no such store, 400 if a name is needed.
            StoreError: if the store cannot be opened.
        """
        return self._current[self._chosen(name)].get()

    @contextmanager
    def writing(self, name: str | None = None) -> Iterator[Corpus]:
        """The corpus of a store as in `get`, for one writing request at a time.

        Raises a `Stopped` if the work should stop while it waits.
        """
        lock = self._writers[self._chosen(name)]
        while not lock.acquire(timeout=_CHECK_SECONDS):
            checkpoint()
        try:
            yield self.get(name)
        finally:
            lock.release()

    def close(self) -> None:
        """Close all stores."""
        for current in self._current.values():
            if (corpus := current.take()) is not None:
                corpus.store.close()

    def _opened(self, location: str) -> Corpus:
        store = open_store(location)
        try:
            info = store.info()
            encoder = self._encoders.of(info.encoder, info.location)
            verifier = chosen_verifier(None, self._verifier, encoder)
        except BaseException:
            store.close()
            raise
        return Corpus(store, encoder, verifier=verifier)

    def _chosen(self, name: str | None) -> str:
        listing = ", ".join(map(repr, self._current)) or "none"
        if name is None:
            if len(self._current) == 1:
                return next(iter(self._current))
            raise Problem(400, "store_needed", f"name a store; there are {listing}")
        if name not in self._current:
            raise Problem(404, "no_such_store", f"no store {name!r}; there are {listing}")
        return name


class Services:
    """Shared by all requests of a service; no store is opened yet. Unreadable keys are errors."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.encoders = Encoders(settings.model)
        self.stores = ServedStores(settings, self.encoders)
        self.pool = WorkPool(settings.limits)
        self.work = Work.of(None, settings.work)
        self.topics = TopicsFolder(self.work.topics)
        self.labels = LabelJournal(self.work.labels_file)
        self.counted: Known[Sequence[Hit]] = Known()
        self.documents_by: Known[dict[str, int]] = Known()
        self.near: Known[tuple[int]] = Known()
        self.overviews: Known[dict[str, Any]] = Known()
        # Of the stores, when they were last looked at; see `resources.health`.
        self.states: Future[dict[str, str]] | None = None
        self.looked = 0.0
        self.keys = None if settings.keys is None else read_keys(settings.keys)

    def current_labels(self, reader: str = "") -> list[Label]:
        """The labels that hold; for a reader, without those of others."""
        if reader:
            return known_to(reader, self.labels.of_all_readers())
        return [answer.label for answer in self.labels.read()]

    def load(self) -> None:
        """Load the models that most stores need; a request that needs one is told of a fault."""
        with suppress(SliceError):
            chosen_verifier(None, self.settings.verifier, self.encoders.default())

    def close(self) -> None:
        """Close the stores and end the threads."""
        self.pool.close()
        self.stores.close()


def _services(request: Request) -> Any:
    return request.app.state.services


Shared = Annotated[Services, Depends(_services)]
"""A parameter of this type gets the services of the app."""
