"""Stores: where passages, their vectors and their words live."""

from __future__ import annotations

from pathlib import Path

from slice_os.model import ModelCard
from slice_os.stores.base import Store
from slice_os.stores.local import LocalStore
from slice_os.stores.local.files import exists


def store_exists(location: str | Path) -> bool:
    """Whether there is a store at that place."""
    return exists(Path(location))


def open_store(location: str | Path, card: ModelCard | None = None) -> Store:
    """Open the store at that place, checking that it belongs to the card's encoder, if any.

    Raises:
        StoreError: where there is none, or a newer version made it.
        EncoderMismatchError: where another encoder made its vectors.
    """
    return LocalStore.open(Path(location), card)


def create_store(location: str | Path, card: ModelCard, max_pieces: int) -> Store:
    """Make an empty store at that place.

    Raises:
        StoreError: where there cannot be one.
    """
    return LocalStore.create(Path(location), card, max_pieces)
