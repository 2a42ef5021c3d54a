"""What an index lists: its documents and their sources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from slice_os.stores.opensearch.search.paging import pages
from slice_os.stores.opensearch.search.search_bodies import ALL_SHARDS
from slice_os.stores.opensearch.server.completeness import complete
from slice_os.stores.opensearch.server.handle import IndexHandle
from slice_os.stores.protocol import DocumentEntry, SourceEntry

PAGE = 1_000


def documents(
    handle: IndexHandle, sources: Sequence[str] | None = None, after: str = ""
) -> Iterator[DocumentEntry]:
    """The documents that came from one of the sources, by id.

    Args:
        handle: of a concrete index.
        sources: their names; None for all documents.
        after: only ids that come after this one.

    Raises:
        StoreError: if the server refuses, or does not answer.
    """
    wanted: list[dict[str, Any]] = [{"term": {"kind": "document"}}]
    if sources is not None:
        wanted.append({"terms": {"source": list(sources)}})
    if after:
        wanted.append({"range": {"doc_id": {"gt": after}}})
    body = {
        "size": PAGE,
        "query": {"bool": {"filter": wanted}},
        "sort": [{"doc_id": "asc"}],
        "_source": ["doc_id", "source", "passages"],
    }
    for page in pages(handle, body):
        for hit in page:
            record = hit["_source"]
            yield DocumentEntry(record["doc_id"], record["source"], record["passages"])


def sources(handle: IndexHandle) -> Iterator[SourceEntry]:
    """All sources that have documents, by name.

    Args:
        handle: of a concrete index.

    Raises:
        StoreError: if the server refuses, or does not answer.
    """
    composite: dict[str, Any] = {
        "size": PAGE,
        "sources": [{"name": {"terms": {"field": "source"}}}],
    }
    body = {
        "size": 0,
        "query": {"term": {"kind": "document"}},
        "aggs": {"sources": {"composite": composite}},
    }
    while True:
        with handle.errors_explained():
            answer = handle.client.search(index=handle.name, body=body, params=ALL_SHARDS)
        found = complete(answer, handle.location, "hits")["aggregations"]["sources"]
        for bucket in found["buckets"]:
            yield SourceEntry(bucket["key"]["name"], bucket["doc_count"])
        if "after_key" not in found:
            return
        composite["after"] = found["after_key"]
