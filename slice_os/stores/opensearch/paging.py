"""Walking all hits of a search in one state of an index."""

from __future__ import annotations

from collections.abc import Iterator

from opensearchpy import OpenSearch

from slice_os.stores.opensearch.indices import errors_explained
from slice_os.stores.opensearch.search_bodies import (
    ALL_SHARDS,
    NAMED_SCORES,
    NEW_POINT,
    Answer,
    Body,
    from_point,
)


def pages(
    client: OpenSearch,
    index: str,
    body: Body,
    location: str,
    with_bm25: bool = False,
) -> Iterator[list[Answer]]:
    """The hits of a sorted search, page by page.

    Args:
        client: where to.
        index: a concrete index.
        body: of the search, with ``size`` and a ``sort`` that tells all hits apart.
        location: for messages.
        with_bm25: ask for the scores of named queries.

    Raises:
        StoreError: if the server does not answer as it should.
    """
    params = ALL_SHARDS | NAMED_SCORES if with_bm25 else ALL_SHARDS
    with errors_explained(location):
        point = client.create_pit(index=index, params=NEW_POINT)["pit_id"]
        try:
            hits: list[Answer] = []
            while True:
                page = from_point(body, point, hits)
                hits = client.search(body=page, params=params)["hits"]["hits"]
                if not hits:
                    return
                yield hits
        finally:
            client.delete_pit(body={"pit_id": [point]})
