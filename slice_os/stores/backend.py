"""A kind of store, as the registry uses it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from slice_os.arrays import FloatArray
from slice_os.encoder.model_folder import ModelCard
from slice_os.stores.protocol import Store


@dataclass(frozen=True, slots=True)
class NewStore:
    """The properties of a new store.

    Attributes:
        card: of the encoder whose vectors it will hold.
        max_pieces: most word pieces of a passage.
        projection: ``(dimension, dimension)`` of the encoder; None if it has none.
        options: choices of one kind of store, such as `IndexOptions`; others ignore them.
    """

    card: ModelCard
    max_pieces: int
    projection: FloatArray | None = None
    options: object | None = None


class Backend(ABC):
    """One kind of store: how to find, make and open stores at locations of its form."""

    @abstractmethod
    def exists(self, location: str) -> bool:
        """Whether there is a store."""

    @abstractmethod
    def open(self, location: str) -> Store:
        """Open the store.

        Raises a `StoreError` if there is none, or a newer version made it.
        """

    @abstractmethod
    def create(self, location: str, new: NewStore) -> None:
        """Make an empty store.

        Raises a `StoreError` if that is not possible.
        """

    def folder(self, location: str) -> Path | None:
        """The folder of a store on this machine's disk; None for others."""
        return None

    def login(self, location: str) -> str | None:
        """The user who logs in with a password, as in ``ann at https://host:9200``, or None."""
        return None
