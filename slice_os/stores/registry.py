"""The kinds of stores, and finding, making and opening a store by its location."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path
from typing import TypeAlias

from slice_os.encoder.model_folder import ModelCard
from slice_os.errors import StoreError
from slice_os.plugins import plugins
from slice_os.stores.protocol import Backend, NewStore, Store

Location: TypeAlias = str | Path
"""The folder of a local store, or ``http(s)://[user@]host[:port]/index``."""

GROUP = "slice_os.stores"
"""Entry points of this group are stores of other packages: a scheme, and a `Backend`."""

_SERVERS = ("http", "https", "opensearch+http", "opensearch+https", "elasticsearch+http")
_CLUSTER = (*_SERVERS, "elasticsearch+https", "elasticsearch+cloud")

# By the scheme of their addresses.
STORES = {
    "": "slice_os.stores.local.store:BACKEND",
    **dict.fromkeys(_CLUSTER, "slice_os.stores.cluster.store:BACKEND"),
}


def find_backend(location: Location) -> Backend:
    """The kind of store that a location belongs to.

    Raises a `StoreError` on half of an address, or a scheme that no store has, and a `PluginError`
    if the package that brings the store does not load.
    """
    if found := re.match(r"(https?):/?(?!/)", str(location).lower()):
        raise StoreError(
            f"an address begins with {found[1]}://, such as {found[1]}://host:9200/index"
        )
    found = re.match(r"([a-z][a-z0-9+.-]+)://", str(location).lower())
    scheme = found[1] if found else ""
    if scheme in STORES:
        backend: Backend = pkgutil.resolve_name(STORES[scheme])
        return backend
    installed = {plugin.name: plugin for plugin in plugins(GROUP)}
    if scheme in installed:
        return installed[scheme].load(Backend)  # type: ignore[type-abstract]
    # The address is not repeated, since it may contain a password.
    known = ", ".join(
        f"{name}://…" for name in (*STORES, *sorted(installed.keys() - STORES)) if name
    )
    raise StoreError(f"no store has addresses of the form {scheme}://…; use a folder, {known}")


def store_exists(location: Location) -> bool:
    """Whether there is a store at a location."""
    return find_backend(location).exists(str(location))


def open_store(location: Location, card: ModelCard | None = None) -> Store:
    """Open a store, and check that it belongs to an encoder, if its card is given.

    Raises a `StoreError` if there is no store, or a newer version made it, and an
    `EncoderMismatchError` if another encoder made its vectors.
    """
    store = find_backend(location).open(str(location))
    if card is not None:
        store.check_encoder(card)
    return store


def create_store(location: Location, new: NewStore) -> None:
    """Make an empty store, unless another process has just made it.

    Raises a `StoreError` if that is not possible.
    """
    try:
        find_backend(location).create(str(location), new)
    except StoreError:
        if not store_exists(location):
            raise
