"""Indices behind an alias: making, resolving and swapping them."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from opensearchpy import OpenSearch, exceptions

from slice_os.arrays import FloatArray
from slice_os.errors import StoreError
from slice_os.model import ModelCard
from slice_os.stores.opensearch.connection import explain
from slice_os.stores.opensearch.retry import retrying
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
# The name that the record has in indices of schema 1.
PROJECTION_KEY = "axes"
UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True)
class Index:
    """A concrete index and what it was made with."""

    name: str
    settings: IndexSettings

    @property
    def needs_projection(self) -> bool:
        """Whether its vectors are projected on axes that lie in a record of their own."""
        return self.settings.dimensions < self.settings.encoder.dimension

    def with_projection(self, record: Mapping[str, Any]) -> Index:
        """With the axes from the record with the id `AXES_KEY`."""
        full = self.settings.encoder.dimension
        packed = np.frombuffer(b64decode(record["_source"]["axes"]), "<f2")
        projection = packed.reshape(full, full).astype(np.float32)
        return replace(self, settings=replace(self.settings, projection=projection))


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
        StoreError: if the alias has several indices, or the index is not one of ours.
    """
    with errors_explained(location):
        try:
            found = client.indices.get_mapping(index=name)
        except exceptions.NotFoundError:
            return None
    index = the_index(found, location)
    if not index.needs_projection:
        return index
    with errors_explained(location):
        return index.with_projection(client.get(index=index.name, id=PROJECTION_KEY))


def no_index(location: str) -> StoreError:
    """What to say where there is no index."""
    return StoreError(f"{location}: no index here; make one with `slice-os ingest`")


def the_index(found: Mapping[str, Any], location: str) -> Index:
    """The one index in an answer of ``_mapping``, without axes as yet.

    Raises:
        StoreError: if there are several, or it is not one of ours.
    """
    if len(found) != 1:
        raise StoreError(f"{location}: stands for {len(found)} indices; name one of them")
    ((concrete, body),) = found.items()
    return Index(concrete, settings_of(body["mappings"], location))


def create(
    client: OpenSearch,
    alias: str,
    options: IndexOptions,
    card: ModelCard,
    max_pieces: int,
    location: str,
    projection: FloatArray | None = None,
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
        projection: the encoder's, if it has them.
        point_alias: let the alias stand for the new index; else it stays noted as unfinished,
            which `finish` undoes.
    """
    check_name(alias)
    settings = choose(options, card, max_pieces, projection)
    with errors_explained(location):
        name = f"{alias}-{_last_number(client, alias) + 1:06d}"
        body = template(f"{alias}-0*", options, settings)
        client.indices.put_index_template(name=template_name(alias), body=body)
        unfinished = {META: settings.to_meta() | {UNFINISHED: True}}
        client.indices.create(index=name, body={"mappings": {"_meta": unfinished}})
    if settings.projection is not None:
        _write_projection(client, name, location, settings.projection)
    # Last, so that an alias never stands for an index without its axes.
    if point_alias:
        finish(client, name, location)
        with errors_explained(location):
            client.indices.put_alias(index=name, name=alias)
    return Index(name, settings)


@retrying
def _write_projection(
    client: OpenSearch, index: str, location: str, projection: FloatArray
) -> None:
    packed = b64encode(projection.astype("<f2").tobytes()).decode()
    with errors_explained(location):
        client.index(index=index, id=PROJECTION_KEY, body={"kind": "axes", "axes": packed})


def finish(client: OpenSearch, index: str, location: str) -> None:
    """Note that an index is complete, so that an alias may stand for it."""
    with errors_explained(location):
        mapping = client.indices.get_mapping(index=index)[index]["mappings"]
        meta = {key: value for key, value in mapping["_meta"][META].items() if key != UNFINISHED}
        client.indices.put_mapping(index=index, body={"_meta": {META: meta}})


def template_name(alias: str) -> str:
    """Of the index template of an alias."""
    return f"slice-os-{alias}"


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


def force_merge(client: OpenSearch, index: str, location: str) -> None:
    """Merge the index into one segment a shard: faster searches, space of deletions freed."""
    with errors_explained(location):
        client.indices.forcemerge(
            index=index, max_num_segments=1, request_timeout=MERGE_TIMEOUT_SECONDS
        )


def _last_number(client: OpenSearch, alias: str) -> int:
    names = versions(client, alias)
    return int(names[-1].removeprefix(f"{alias}-")) if names else 0
