"""An index on a server: the client, the index's name, and how messages call it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from opensearchpy import OpenSearch, exceptions

from slice_os.stores.opensearch.server.answers import complete, explain
from slice_os.stores.opensearch.server.connection import parse_location


@dataclass(frozen=True, slots=True)
class IndexHandle:
    """An index or alias on a server; messages call it by its location, which has no secret."""

    client: OpenSearch
    name: str
    location: str

    @classmethod
    def at(cls, location: str) -> IndexHandle:
        """The handle for ``http(s)://[user@]host[:port]/index``; see `parse_location`."""
        connection = parse_location(location)
        return cls(connection.client(), connection.index, connection.location)

    def named(self, name: str) -> IndexHandle:
        """Another index on the same server; messages call the store as before."""
        return replace(self, name=name)

    def errors_explained(self) -> AbstractContextManager[None]:
        """Turn the client's exceptions into one-line `StoreError`s."""
        return errors_explained(self.location)

    def ask(self, method: Callable[..., Any], *needed: str, **arguments: Any) -> Any:
        """What a method of the client answers about the index.

        If ``needed`` names what the answer must have, it has to be whole; see `complete`.
        """
        with self.errors_explained():
            answer = method(index=self.name, **arguments)
        return complete(answer, self.location, *needed) if needed else answer

    def mapping(self) -> dict[str, Any]:
        """The mapping of a concrete index."""
        found = self.ask(self.client.indices.get_mapping)
        mapping: dict[str, Any] = found[self.name]["mappings"]
        return mapping

    def refresh(self) -> None:
        """Make everything written so far searchable.

        Raises a `StoreError` if the server refuses, or not every shard could.
        """
        self.ask(self.client.indices.refresh, "_shards")


@contextmanager
def errors_explained(location: str) -> Iterator[None]:
    """Turn the client's exceptions into one-line `StoreError`s."""
    try:
        yield
    except exceptions.OpenSearchException as error:
        raise explain(error, location) from None
