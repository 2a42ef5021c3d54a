"""Stores to test, and filling and reading them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from slice_os.spans.passages import DocumentPart
from slice_os.stores.backend import NewStore
from slice_os.stores.candidates import StoredPassage
from slice_os.stores.protocol import Store
from slice_os.stores.registry import create_store, open_store
from slice_os.testing.random_vectors import CARD, random_part, random_query
from slice_os.text.documents import Document

MAX_PIECES = 128


class StoreTests:
    """Tests of a store at the fixture ``location``, where there is none yet.

    Attributes:
        options: for new stores; see `NewStore`.
    """

    options: object | None = None

    def made(self, location: str) -> Store:
        """A new store."""
        create_store(location, NewStore(CARD, MAX_PIECES, options=self.options))
        return open_store(location, CARD)


@contextmanager
def refused(kind: type[Exception]) -> Iterator[None]:
    """Expect an error of one line."""
    told = None
    try:
        yield
    except kind as error:
        told = str(error)
    assert told, f"no {kind.__name__}"
    assert "\n" not in told


def numbered(count: int) -> list[Document]:
    """Documents of one to four sentences."""
    return [Document(f"doc {n}", f"number {n} is here. " * (1 + n % 4)) for n in range(count)]


def fill(store: Store, documents: Iterable[Document]) -> dict[str, DocumentPart]:
    """Write documents with random vectors; returns them by id."""
    parts = {document.id: random_part(document, n) for n, document in enumerate(documents)}
    with store.writer() as writer:
        rejections = [rejection for part in parts.values() for rejection in writer.write(part)]
        assert not [*rejections, *writer.flush()]
    return parts


def everything(store: Store) -> list[StoredPassage]:
    """All passages, in stored order."""
    found = store.scan(random_query("number"), -1.0, exhaustive=True)
    return [one for each in found for one in each.load(each.keys).values()]
