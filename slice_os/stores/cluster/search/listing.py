"""Listings of an index, its records by their ids, and all hits of a search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from typing import Any

import numpy as np

from slice_os.errors import StoreError, UnavailableError
from slice_os.query.filters import Condition, unknown_field
from slice_os.spans.passages import DocumentPart, own_fields
from slice_os.stores.cluster.schema.indices import Index
from slice_os.stores.cluster.schema.records import ordinals_of, stored_passage
from slice_os.stores.cluster.search import flows
from slice_os.stores.cluster.search.clauses import DATE, NUMBERS, path
from slice_os.stores.cluster.search.exchange import Driver
from slice_os.stores.cluster.search.metadata import REAL, mapped_fields, value_of, values_body
from slice_os.stores.cluster.search.searches import (
    ALL_SHARDS,
    PASSAGES,
    WALK_PASSAGES,
    Answer,
    Body,
    pieces,
)
from slice_os.stores.cluster.server.answers import deleted, reason_of, retrying
from slice_os.stores.cluster.server.connection import IndexHandle
from slice_os.stores.protocol import DocumentEntry, FieldValue, KeptDocument, SourceEntry
from slice_os.text.documents import Scalar
from slice_os.text.passage_layout import LAYOUT

PAGE = 1_000
# Up to this many documents are counted exactly; OpenSearch counts no more.
_EXACT = 40_000


def find_index(handle: IndexHandle) -> Index | None:
    """The index of that name, or behind an alias of that name; see `flows.resolve`."""
    return Driver(handle.client, handle.location).run(
        flows.resolve(handle.name, handle.location, handle.engine)
    )


def require_index(handle: IndexHandle) -> Index:
    """As `find_index`, but a `StoreError` if there is none."""
    return Driver(handle.client, handle.location).run(
        flows.require(handle.name, handle.location, handle.engine)
    )


@retrying
def find_records(handle: IndexHandle, keys: Sequence[str]) -> list[dict[str, Any]]:
    """Those of the records that exist.

    Raises a `StoreError` if the index cannot answer for one of them, such as while a shard is away.
    """
    return [entry["_source"] for entry in find_entries(handle, keys)]


def find_entries(handle: IndexHandle, keys: Sequence[str]) -> list[dict[str, Any]]:
    """As `find_records`, with their versions, and without trying again."""
    answers: list[Answer] = []
    for some in pieces(keys, PAGE):
        answers += handle.ask(handle.client.mget, "docs", body={"ids": list(some)})["docs"]
    for answer in answers:
        if "error" in answer:
            if answer["error"]["type"] == "index_not_found_exception":
                raise deleted(handle.location)
            reason = reason_of(answer["error"])
            raise UnavailableError(f"{handle.location}: the server says {reason}")
    return [answer for answer in answers if answer["found"]]


def hits(handle: IndexHandle, body: Body) -> Iterator[Answer]:
    """All hits of a search in one state of a concrete index; see `flows.pages`."""
    pages = Driver(handle.client, handle.location).stream(
        flows.pages(handle.name, handle.engine, body)
    )
    return chain.from_iterable(pages)


def count(handle: IndexHandle) -> dict[str, int]:
    """Count what a concrete index holds, as in `StoreInfo`; the size is of primary shards."""
    sums = {name: {"sum": {"field": name}} for name in ("n_words", "n_pieces")}
    body = {"size": 0, "aggs": {"kinds": {"terms": {"field": "kind"}}, **sums}}
    answer = _aggregations(handle, body)
    stats = handle.ask(handle.client.indices.stats, metric="store")
    kinds = {bucket["key"]: bucket["doc_count"] for bucket in answer["kinds"]["buckets"]}
    return {
        "documents": kinds.get("document", 0),
        "passages": kinds.get("passage", 0),
        "words": int(answer["n_words"]["value"]),
        "pieces": int(answer["n_pieces"]["value"]),
        "size_bytes": stats["_all"]["primaries"]["store"]["size_in_bytes"],
    }


def list_documents(
    handle: IndexHandle, sources: Sequence[str] | None = None, after: str = ""
) -> Iterator[DocumentEntry]:
    """The documents from some sources, or all of them, by id, after an id."""
    wanted: list[Body] = [{"term": {"kind": "document"}}]
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
    for hit in hits(handle, body):
        record = hit["_source"]
        yield DocumentEntry(record["doc_id"], record["source"], record["passages"])


def by_document(
    handle: IndexHandle, doc_ids: Sequence[str] | None = None, **more: Any
) -> Iterator[tuple[str, Iterator[Answer]]]:
    """Ids of documents, some or all, in order, each with the hits of what is stored of it.

    These are its record, if any, and its passages in order, all in one state of the index.
    ``more`` is of the search's body.
    """
    wanted: list[Body] = [{"terms": {"kind": ["document", "passage"]}}]
    if doc_ids is not None:
        wanted.append({"terms": {"doc_id": list(doc_ids)}})
    order = [{"doc_id": "asc"}, {"kind": "asc"}, {"ordinal": "asc"}]
    body = {"size": PAGE, "query": {"bool": {"filter": wanted}}, "sort": order, **more}
    return groupby(hits(handle, body), key=lambda hit: hit["_source"]["doc_id"])


def recorded(
    handle: IndexHandle, doc_ids: Sequence[str] | None = None, **more: Any
) -> Iterator[tuple[Answer, list[Answer]]]:
    """The records of documents, as `by_document`, each with the hits of the passages it counts.

    Raises a `StoreError` if some of these do not exist.
    """
    for doc_id, (first, *passages) in by_document(handle, doc_ids, **more):
        record = first["_source"]
        if record["kind"] != "document":
            continue  # its record is gone, or not written yet
        ordinals = ordinals_of(record)
        counted = [hit for hit in passages if hit["_source"]["ordinal"] in ordinals]
        if len(counted) < len(ordinals):
            raise StoreError(
                f"{handle.location}: {len(counted)} of {len(ordinals)} passages of document "
                f"{doc_id!r} are there; if it is not being written, run `slice-os store check "
                f"--repair --store {handle.location}`"
            )
        yield record, counted


def stored_documents(handle: IndexHandle) -> Iterator[DocumentPart]:
    """All documents by id, with their vectors, in one state; see `CopyableStore`."""
    for record, passages in recorded(handle, size=WALK_PASSAGES, docvalue_fields=["tokens"]):
        sources = [hit["_source"] for hit in passages]
        text = "".join(one["gap"] + one["text"] for one in sources) + record["gap"]
        metadata = common_fields(record, sources)
        document = KeptDocument(
            record["doc_id"], text, metadata, source=record["source"], kept=record["fingerprint"]
        )
        encoded = (stored_passage(hit).encoded for hit in passages)
        yield DocumentPart(document, tuple(own_fields(metadata, encoded)), last=True)


def common_fields(record: Answer, passages: Sequence[Answer]) -> dict[str, Scalar]:
    """The fields that all passages of a document have in common, or those of its record."""
    first, *others = (one.get("metadata", {}) for one in passages or [record])
    return {
        name: value
        for name, value in first.items()
        if name != LAYOUT and all(other.get(name) == value for other in others)
    }


def list_sources(handle: IndexHandle) -> Iterator[SourceEntry]:
    """All sources that have documents, by name."""
    names = [{"name": {"terms": {"field": "source"}}}]
    for bucket in _buckets(handle, {"term": {"kind": "document"}}, names):
        yield SourceEntry(bucket["key"]["name"], bucket["doc_count"])


def field_kinds(handle: IndexHandle) -> dict[str, str]:
    """The fields, each ``text`` or ``number``."""
    found = _mapped(handle)
    return {name: "number" if found[name]["type"] in NUMBERS else "text" for name in sorted(found)}


def values_of(handle: IndexHandle, field: str, limit: int | None) -> list[FieldValue]:
    """The most frequent values of a field; see `Store.field_values`.

    Passages choose the values, so that a value of a few long documents comes before one of many
    short ones.
    """
    condition = Condition(field, "eq", ())
    there = _mapped(handle)
    if field not in there:
        raise unknown_field(condition, there, handle.location)
    counts = {"documents": {"cardinality": {"field": "doc_id", "precision_threshold": _EXACT}}}
    reals = {"field": f"{path(condition)}.{REAL}", "size": PAGE}
    aggs: Body = {**counts, REAL: {"terms": reals, "aggs": counts}}
    if limit is None:
        buckets = _all_buckets(handle, condition, there[field]["type"], aggs)
    else:
        body = values_body(condition, [], limit, aggs=aggs)
        buckets = iter(_aggregations(handle, body)["values"]["buckets"])
    values = [
        FieldValue(value_of(one), one["documents"]["value"])
        for bucket in buckets
        for one in _uncut(bucket)
    ]
    return sorted(values, key=lambda one: (-one.documents, one.value))[:limit]


def _uncut(bucket: dict[str, Any]) -> list[dict[str, Any]]:
    """A bucket of an integer as those of the numbers that the field cut to it."""
    numbers = bucket.get(REAL, {}).get("buckets", [])
    return [one if one["key"] % 1 else one | {"key": bucket["key"]} for one in numbers] or [bucket]


def _all_buckets(
    handle: IndexHandle, condition: Condition, kind: str, aggs: Body
) -> Iterator[dict[str, Any]]:
    """As `values_body` has them, of every value."""
    sources = [{"name": {"terms": {"field": path(condition)}}}]
    found = _buckets(handle, PASSAGES, sources, aggs=aggs)
    for bucket in found:
        key = bucket["key"]["name"]
        # Only this aggregation has dates as milliseconds since 1970.
        yield bucket | {"key": f"{np.datetime64(key, 'ms')}Z" if kind == DATE else key}


def _buckets(
    handle: IndexHandle, query: Body, sources: Sequence[Body], **more: Body
) -> Iterator[dict[str, Any]]:
    composite: dict[str, Any] = {"size": PAGE, "sources": sources}
    body = {"size": 0, "query": query, "aggs": {"found": {"composite": composite, **more}}}
    while True:
        found = _aggregations(handle, body)["found"]
        yield from found["buckets"]
        if "after_key" not in found:
            return
        composite["after"] = found["after_key"]


def _mapped(handle: IndexHandle) -> dict[str, Any]:
    return mapped_fields(handle.mapping()["properties"])


def _aggregations(handle: IndexHandle, body: Body) -> dict[str, Any]:
    answer = handle.ask(handle.client.search, "hits", body=body, params=ALL_SHARDS)
    found: dict[str, Any] = answer["aggregations"]
    return found
