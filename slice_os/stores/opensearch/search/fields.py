"""The metadata fields of an index, and their values."""

from __future__ import annotations

from typing import Any

from slice_os.query.filters import Condition, unknown_field
from slice_os.stores.opensearch.search.clauses import NUMBERS, path
from slice_os.stores.opensearch.search.metadata import mapped_fields
from slice_os.stores.opensearch.search.search_bodies import ALL_SHARDS, PASSAGES
from slice_os.stores.opensearch.server.completeness import complete
from slice_os.stores.opensearch.server.handle import IndexHandle
from slice_os.stores.protocol import FieldValue
from slice_os.text.documents import field_text

# Up to this many documents are counted exactly; OpenSearch counts no more.
_EXACT = 40_000


def field_kinds(handle: IndexHandle) -> dict[str, str]:
    """The fields, each ``text`` or ``number``."""
    found = _mapped(handle)
    return {name: "number" if found[name]["type"] in NUMBERS else "text" for name in sorted(found)}


def values_of(handle: IndexHandle, field: str, limit: int) -> list[FieldValue]:
    """The most frequent values of a field; see `Store.field_values`.

    Passages choose the values, so that a value of a few long documents comes before one of many
    short ones.
    """
    condition = Condition(field, "eq", ())
    there = _mapped(handle)
    if field not in there:
        raise unknown_field(condition, there, handle.location)
    counts = {"cardinality": {"field": "doc_id", "precision_threshold": _EXACT}}
    terms = {"terms": {"field": path(condition), "size": limit}, "aggs": {"documents": counts}}
    body = {"size": 0, "query": {"bool": {"filter": [PASSAGES]}}, "aggs": {"values": terms}}
    with handle.errors_explained():
        answer = handle.client.search(index=handle.name, body=body, params=ALL_SHARDS)
    found = complete(answer, handle.location, "hits")["aggregations"]["values"]["buckets"]
    values = [FieldValue(_text(bucket), bucket["documents"]["value"]) for bucket in found]
    return sorted(values, key=lambda one: (-one.documents, one.value))


def _mapped(handle: IndexHandle) -> dict[str, Any]:
    with handle.errors_explained():
        mapping = handle.client.indices.get_mapping(index=handle.name)
    return mapped_fields(mapping[handle.name]["mappings"]["properties"])


def _text(bucket: dict[str, Any]) -> str:
    return str(bucket.get("key_as_string") or field_text(bucket["key"]))
