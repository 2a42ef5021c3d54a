"""Indices behind an alias: making, resolving, loading, swapping and deleting them."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from opensearchpy import OpenSearch, exceptions

from slice_os.errors import StoreError
from slice_os.model import ModelCard
from slice_os.spans import FloatArray
from slice_os.stores.opensearch.connection import explain
from slice_os.stores.opensearch.settings import (
    META,
    IndexOptions,
    IndexSettings,
    check_name,
    choose,
    settings_of,
    template,
)

MERGE_TIMEOUT_SECONDS = 3600
AXES_KEY = "axes"
PASSAGES = {"query": {"term": {"kind": "passage"}}}


@dataclass(frozen=True, slots=True)
class Index:
    """A concrete index and what it was made with."""

    name: str
    settings: IndexSettings


@contextmanager
def errors_explained(location: str) -> Iterator[None]:
    """Turn the client's exceptions into one-line `StoreError`s."""
    try:
        yield
    except exceptions.OpenSearchException as error:
        raise explain(error, location) from None


def resolve(client: OpenSearch, name: str, location: str) -> Index | None:
    """The index of that name, or the one behind an alias of that name; None for neither.

    Raises:
        StoreError: where the alias has several indices, or the index is not one of ours.
    """
    with errors_explained(location):
        try:
            found = client.indices.get_mapping(index=name)
        except exceptions.NotFoundError:
            return None
    if len(found) != 1:
        raise StoreError(f"{location}: stands for {len(found)} indices; name one of them")
    ((concrete, body),) = found.items()
    settings = settings_of(body["mappings"], location)
    full = settings.encoder.dimension
    if settings.dimensions < full:
        with errors_explained(location):
            packed = client.get(index=concrete, id=AXES_KEY)["_source"]["axes"]
        axes = np.frombuffer(b64decode(packed), "<f2").reshape(full, full).astype(np.float32)
        settings = replace(settings, axes=axes)
    return Index(concrete, settings)


def create(
    client: OpenSearch,
    alias: str,
    options: IndexOptions,
    card: ModelCard,
    max_pieces: int,
    location: str,
    axes: FloatArray | None = None,
    point_alias: bool = True,
) -> Index:
    """Make the next versioned index of an alias, such as ``calls-000002``.

    Args:
        client: where to.
        alias: name that applications use.
        options: what may be chosen.
        card: the encoder's.
        max_pieces: word pieces that a passage holds.
        location: for messages.
        axes: principal axes of the encoder's span vectors, if it has them.
        point_alias: let the alias stand for the new index.
    """
    check_name(alias)
    settings = choose(options, card, max_pieces, axes)
    name = f"{alias}-{_last_number(client, alias) + 1:06d}"
    with errors_explained(location):
        body = template(f"{alias}-0*", options, settings)
        client.indices.put_index_template(name=f"slice-os-{alias}", body=body)
        aliases: dict[str, Any] = {alias: {}} if point_alias else {}
        client.indices.create(index=name, body={"aliases": aliases})
        if settings.axes is not None:
            packed = b64encode(settings.axes.astype("<f2").tobytes()).decode()
            client.index(index=name, id=AXES_KEY, body={"kind": "axes", "axes": packed})
    return Index(name, settings)


def versions(client: OpenSearch, alias: str) -> list[str]:
    """The versioned indices of an alias, oldest first."""
    names: list[str] = sorted(client.indices.get(index=f"{alias}-0*", ignore_unavailable=True))
    return [name for name in names if name.removeprefix(f"{alias}-").isdigit()]


def swap(client: OpenSearch, alias: str, index: str, location: str) -> list[str]:
    """Let the alias stand for one index, at once; returns those it stood for before."""
    with errors_explained(location):
        before = (
            sorted(client.indices.get_alias(name=alias))
            if client.indices.exists_alias(name=alias)
            else []
        )
        actions: list[dict[str, Any]] = [
            {"remove": {"index": name, "alias": alias}} for name in before if name != index
        ]
        actions.append({"add": {"index": index, "alias": alias}})
        client.indices.update_aliases(body={"actions": actions})
    return [name for name in before if name != index]


@contextmanager
def loading(client: OpenSearch, index: str, location: str) -> Iterator[bool]:
    """Settings for a bulk load: no refresh, and no replicas while the index is empty.

    What they were is noted in the mapping first, so that a load that was cut off, even by
    SIGKILL, is put right by the next one.

    Yields:
        Whether an earlier load was cut off.
    """
    with errors_explained(location):
        mapping = client.indices.get_mapping(index=index)[index]["mappings"]
        former = mapping["_meta"][META].get("restore")
        restore = former or _load_settings(client, index)
        _note(client, index, mapping, restore)
        client.indices.refresh(index=index)
        empty = client.count(index=index, body=PASSAGES)["count"] == 0
        settings = {"refresh_interval": "-1"} | ({"number_of_replicas": 0} if empty else {})
        client.indices.put_settings(index=index, body={"index": settings})
    try:
        yield former is not None
    finally:
        with errors_explained(location):
            client.indices.put_settings(index=index, body={"index": restore})
            client.indices.refresh(index=index)
            _note(client, index, mapping, None)


def force_merge(client: OpenSearch, index: str, location: str) -> None:
    """Merge the index into one segment a shard: faster searches, space of deletions freed."""
    with errors_explained(location):
        client.indices.forcemerge(
            index=index, max_num_segments=1, request_timeout=MERGE_TIMEOUT_SECONDS
        )


def _load_settings(client: OpenSearch, index: str) -> dict[str, Any]:
    current = client.indices.get_settings(index=index)[index]["settings"]["index"]
    return {
        "refresh_interval": current.get("refresh_interval"),
        "number_of_replicas": current["number_of_replicas"],
    }


def _note(
    client: OpenSearch, index: str, mapping: dict[str, Any], restore: dict[str, Any] | None
) -> None:
    """Write the mapping's ``_meta`` with the settings to restore, or without any."""
    meta = {key: value for key, value in mapping["_meta"][META].items() if key != "restore"}
    if restore is not None:
        meta["restore"] = restore
    client.indices.put_mapping(index=index, body={"_meta": {META: meta}})


def _last_number(client: OpenSearch, alias: str) -> int:
    names = versions(client, alias)
    return int(names[-1].removeprefix(f"{alias}-")) if names else 0
