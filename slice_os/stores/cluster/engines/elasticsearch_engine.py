"""Elasticsearch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slice_os.stores.cluster.engines.elasticsearch_client import connect
from slice_os.stores.cluster.engines.engine import VECTORS, Clause, Engine, PointInTime


def _answers(headers: Mapping[str, str], body: Mapping[str, Any]) -> bool:
    named = headers.get("x-elastic-product") == "Elasticsearch"
    return named or body.get("tagline") == "You Know, for Search"


def _vector_field(dimensions: int, kind: str) -> dict[str, Any]:
    return {
        "type": "dense_vector",
        "dims": dimensions,
        "element_type": kind,
        "similarity": "cosine",
        # Floats would be cut to bits by default.
        "index_options": {"type": "hnsw", "m": 8, "ef_construction": 32},
    }


def _nearest(vector: list[float], count: float, filtered: Clause) -> Clause:
    limits = {"k": count, "num_candidates": count}
    return {"knn": {"field": VECTORS, "query_vector": vector, **limits, **filtered}}


ELASTICSEARCH: Engine = Engine(
    name="Elasticsearch",
    oldest=(8, 19),
    supported="Elasticsearch 8.19 and 9.x",
    answers=_answers,
    connect=lambda options: connect(options, ELASTICSEARCH),
    connect_async=lambda options: connect(options, ELASTICSEARCH, asynchronous=True),
    index_settings={},
    # With it, a search for 1,000 passages by bytes ends with half of them.
    tuning={"index.dense_vector.hnsw_enable_early_termination": False},
    vector_type="dense_vector",
    vector_field=_vector_field,
    nearest=_nearest,
    # Its least similarity applies to the candidates of a search alone.
    radial=None,
    # It multiplies by k1 + 1, which Lucene no longer does.
    boost=1 / 2.2,
    point=PointInTime("/_pit", key="id", whole={"allow_partial_search_results": "false"}),
    proves_scripts=True,
)
