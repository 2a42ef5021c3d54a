"""Stores in OpenSearch, for the registry: every location that is an address of an index."""

from __future__ import annotations

from slice_os.stores.backend import Backend, NewStore
from slice_os.stores.opensearch.schema.settings import IndexOptions
from slice_os.stores.opensearch.search.lookup import find_index
from slice_os.stores.opensearch.server.connection import parse_location
from slice_os.stores.opensearch.server.handle import IndexHandle
from slice_os.stores.opensearch.store import OpenSearchStore
from slice_os.stores.opensearch.versions.making import create_first
from slice_os.stores.protocol import Store


class OpenSearchBackend(Backend):
    """Stores at ``http(s)://[user@]host[:port]/index``."""

    def exists(self, location: str) -> bool:
        """Whether there is an index, or an alias of one."""
        return find_index(IndexHandle.at(location)) is not None

    def open(self, location: str) -> Store:
        """Open the index; see `OpenSearchStore`."""
        handle = IndexHandle.at(location)
        return OpenSearchStore(handle.client, handle.name, handle.location)

    def create(self, location: str, new: NewStore) -> None:
        """Make the first index of an alias; see `create_first`."""
        options = new.options if isinstance(new.options, IndexOptions) else IndexOptions()
        create_first(IndexHandle.at(location), options, new.card, new.max_pieces, new.projection)

    def login(self, location: str) -> str | None:
        """The user in the address, if there is one."""
        connection = parse_location(location)
        return f"{connection.user} at {connection.url}" if connection.user else None


BACKEND = OpenSearchBackend()
