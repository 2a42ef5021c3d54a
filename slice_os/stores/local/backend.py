"""Local stores, for the registry: every location that is a folder."""

from __future__ import annotations

from pathlib import Path

from slice_os.stores.backend import Backend, NewStore
from slice_os.stores.local.files import exists
from slice_os.stores.local.store import LocalStore
from slice_os.stores.protocol import Store


class LocalBackend(Backend):
    """Stores in folders."""

    def exists(self, location: str) -> bool:
        """Whether a store was made in the folder."""
        return exists(Path(location))

    def open(self, location: str) -> Store:
        """Open the store in the folder; see `LocalStore.open`."""
        return LocalStore.open(Path(location))

    def create(self, location: str, new: NewStore) -> None:
        """Make an empty store in the folder; see `LocalStore.create`."""
        LocalStore.create(Path(location), new.card, new.max_pieces).close()

    def folder(self, location: str) -> Path:
        """The folder itself."""
        return Path(location)


BACKEND = LocalBackend()
