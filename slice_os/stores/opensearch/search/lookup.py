"""Finding an index by its name, records by their ids, and all hits of a search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from slice_os.errors import UnavailableError
from slice_os.stores.opensearch.schema.indices import Index
from slice_os.stores.opensearch.search import flows
from slice_os.stores.opensearch.search.exchange import Driver
from slice_os.stores.opensearch.search.searches import Answer, Body
from slice_os.stores.opensearch.server.answers import reason_of
from slice_os.stores.opensearch.server.handle import IndexHandle
from slice_os.stores.opensearch.server.retry import retrying


def find_index(handle: IndexHandle) -> Index | None:
    """The index of that name, or the one behind an alias of that name; None if there is neither.

    Raises:
        StoreError: if the alias stands for several indices, or slice-os did not make the index.
    """
    return Driver(handle.client, handle.location).run(flows.resolve(handle.name, handle.location))


def require_index(handle: IndexHandle) -> Index:
    """As `find_index`, but a `StoreError` if there is none."""
    return Driver(handle.client, handle.location).run(flows.require(handle.name, handle.location))


@retrying
def find_records(handle: IndexHandle, keys: Sequence[str]) -> list[dict[str, Any]]:
    """Those of the records that exist.

    Raises a `StoreError` if the index cannot answer for one of them, such as while a shard is away.
    """
    return [entry["_source"] for entry in find_entries(handle, keys)]


def find_entries(handle: IndexHandle, keys: Sequence[str]) -> list[dict[str, Any]]:
    """As `find_records`, with their versions, and without trying again."""
    if not keys:
        return []
    answers = handle.ask(handle.client.mget, "docs", body={"ids": list(keys)})["docs"]
    for answer in answers:
        if "error" in answer:
            reason = reason_of(answer["error"])
            raise UnavailableError(f"{handle.location}: OpenSearch says {reason}")
    return [answer for answer in answers if answer["found"]]


def hits(handle: IndexHandle, body: Body) -> Iterator[Answer]:
    """All hits of a search in one state of a concrete index; see `flows.pages`."""
    pages = Driver(handle.client, handle.location).stream(flows.pages(handle.name, body))
    return chain.from_iterable(pages)
