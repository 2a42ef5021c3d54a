"""Stores: where passages, their vectors and their words live."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

from slice_os.arrays import FloatArray
from slice_os.model import ModelCard
from slice_os.stores.base import Store
from slice_os.stores.local import LocalStore
from slice_os.stores.local.files import exists
from slice_os.stores.opensearch.settings import IndexOptions

Location: TypeAlias = str | Path


def is_remote(location: Location) -> bool:
    """Whether a store's location is an address and no folder."""
    return str(location).lower().startswith(("http://", "https://"))


def store_exists(location: Location) -> bool:
    """Whether there is a store at that place."""
    if not is_remote(location):
        return exists(Path(location))
    from slice_os.stores.opensearch.connection import parse_location
    from slice_os.stores.opensearch.indices import resolve

    connection = parse_location(str(location))
    return resolve(connection.client(), connection.index, connection.location) is not None


def open_store(location: Location, card: ModelCard | None = None) -> Store:
    """Open the store at that place, checking that it belongs to the card's encoder, if any.

    Args:
        location: folder of a local store, or ``http(s)://[user@]host[:port]/index``.
        card: of the encoder that will be used.

    Raises:
        StoreError: if there is none, or a newer version made it.
        EncoderMismatchError: if another encoder made its vectors.
    """
    if not is_remote(location):
        return LocalStore.open(Path(location), card)
    from slice_os.stores.opensearch.connection import parse_location
    from slice_os.stores.opensearch.store import OpenSearchStore

    connection = parse_location(str(location))
    store = OpenSearchStore(connection.client(), connection.index, connection.location)
    if card is not None:
        store.check_encoder(card)
    return store


def create_store(
    location: Location,
    card: ModelCard,
    max_pieces: int,
    options: IndexOptions | None = None,
    projection: FloatArray | None = None,
) -> None:
    """Make an empty store at that place.

    Args:
        location: folder of a local store, or ``http(s)://[user@]host[:port]/index``.
        card: the encoder's.
        max_pieces: word pieces that a passage holds.
        options: of an OpenSearch index.
        projection: the encoder's, if it has them.

    Raises:
        StoreError: if there cannot be one.
    """
    if not is_remote(location):
        LocalStore.create(Path(location), card, max_pieces).close()
        return
    from slice_os.stores.opensearch.connection import parse_location
    from slice_os.stores.opensearch.indices import create

    connection = parse_location(str(location))
    create(
        connection.client(),
        connection.index,
        options or IndexOptions(),
        card,
        max_pieces,
        connection.location,
        projection,
    )
