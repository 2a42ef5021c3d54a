"""The first index of an alias, made by one of several processes that start at the same time."""

from __future__ import annotations

from typing import Any

import orjson

from slice_os.arrays import FloatArray
from slice_os.encoder.model_folder import ModelCard
from slice_os.errors import StoreError
from slice_os.stores.opensearch.loading.lease import gate
from slice_os.stores.opensearch.schema.indices import (
    UNFINISHED,
    Index,
    find_versions,
    finish,
    make_version,
    next_name,
    write_projection,
)
from slice_os.stores.opensearch.schema.settings import META, IndexOptions, IndexSettings, choose
from slice_os.stores.opensearch.server.connection import check_name
from slice_os.stores.opensearch.server.handle import IndexHandle
from slice_os.stores.opensearch.server.retry import retrying


@retrying
def create_first(
    handle: IndexHandle,
    options: IndexOptions,
    card: ModelCard,
    max_pieces: int,
    projection: FloatArray | None = None,
) -> Index:
    """Make an index and let the alias stand for it; if another process does, wait for that.

    What a process that was killed has left unfinished is completed.

    Raises:
        InputError: on options that do not fit the encoder.
        StoreError: if the alias stands for an index with other settings.
    """
    check_name(handle.name)
    settings = choose(options, card, max_pieces, projection)
    there = find_versions(handle)
    if not there:
        try:
            make_version(handle, next_name(handle.name, ()), options, settings)
        except StoreError:
            # Of several processes, the server lets one make it.
            if not find_versions(handle):
                raise
        there = find_versions(handle)
    newest = max(there)
    # Only one process at a time goes on, and the others find its index.
    with gate(handle.named(newest)):
        there = find_versions(handle)
        for name, version in there.items():
            if handle.name in version["aliases"]:
                return _same(handle, name, version, settings)
        unfinished = UNFINISHED in _meta(there[max(there)])
        if newest == max(there) and unfinished and _has(there[newest], settings):
            write_projection(handle.named(newest), settings.projection)
        else:
            newest = next_name(handle.name, sorted(there))
            make_version(handle, newest, options, settings)
        # An alias never stands for an index without its projection.
        finish(handle.named(newest))
        with handle.errors_explained():
            handle.client.indices.put_alias(index=newest, name=handle.name)
    return Index(newest, settings)


def _same(
    handle: IndexHandle, name: str, version: dict[str, Any], settings: IndexSettings
) -> Index:
    if not _has(version, settings):
        raise StoreError(
            f"{handle.location}: {name} is there already, made with another encoder or other "
            "options; use the same ones, or choose another name"
        )
    return Index(name, settings)


def _has(version: dict[str, Any], settings: IndexSettings) -> bool:
    wanted = orjson.loads(orjson.dumps(settings.to_meta()))
    return bool(_meta(version) | wanted == _meta(version))


def _meta(version: dict[str, Any]) -> dict[str, Any]:
    meta: dict[str, Any] = version.get("mappings", {}).get("_meta", {}).get(META, {})
    return meta
