"""All hits of a search in one state of an index, page by page."""

from __future__ import annotations

from collections.abc import Iterator

from slice_os.stores.opensearch.search import flows
from slice_os.stores.opensearch.search.drivers import Driver
from slice_os.stores.opensearch.search.exchange import Emit, Stream
from slice_os.stores.opensearch.search.search_bodies import Answer, Body
from slice_os.stores.opensearch.server.handle import IndexHandle


def pages(handle: IndexHandle, body: Body) -> Iterator[list[Answer]]:
    """The hits of a sorted search, page by page.

    Args:
        handle: of a concrete index.
        body: of the search, with ``size`` and a ``sort`` that is different for every hit.

    Raises:
        StoreError: if the server refuses, or does not answer.
    """
    return Driver(handle.client, handle.location).stream(flows.pages(handle.name, body, _emit))


def _emit(hits: list[Answer]) -> Stream[list[Answer]]:
    yield Emit(hits)
