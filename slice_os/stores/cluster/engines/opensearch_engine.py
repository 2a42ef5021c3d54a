"""OpenSearch with the k-NN plugin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import opensearchpy
from opensearchpy import OpenSearch

from slice_os.stores.cluster.engines.engine import VECTORS, Clause, Engine, PointInTime


def _answers(headers: Mapping[str, str], body: Mapping[str, Any]) -> bool:
    # Where it pretends to be Elasticsearch 7, for old clients, only the tagline tells.
    told = f"{body.get('version', {}).get('distribution')} {body.get('tagline')}"
    return "opensearch" in told.lower()


def _vector_field(dimensions: int, kind: str) -> dict[str, Any]:
    return {
        "type": "knn_vector",
        "dimension": dimensions,
        "data_type": kind,
        "space_type": "cosinesimil",
        "method": {
            "name": "hnsw",
            "engine": "lucene",
            "parameters": {"m": 8, "ef_construction": 32},
        },
    }


def _knn(vector: list[float], filtered: Clause, **limit: float) -> Clause:
    return {"knn": {VECTORS: {"vector": vector, **limit, **filtered}}}


OPENSEARCH = Engine(
    name="OpenSearch",
    oldest=(0, 0),
    supported="OpenSearch 3.5 or newer",
    answers=_answers,
    connect=lambda options: OpenSearch(**options),
    connect_async=lambda options: opensearchpy.AsyncOpenSearch(**options),
    index_settings={"knn": True},
    tuning={},
    vector_type="knn_vector",
    vector_field=_vector_field,
    nearest=lambda vector, count, filtered: _knn(vector, filtered, k=count),
    radial=lambda vector, least, filtered: _knn(vector, filtered, min_score=least),
    boost=1,
    point=PointInTime(
        path="/_search/point_in_time",
        key="pit_id",
        whole={"allow_partial_pit_creation": "false"},
    ),
    proves_scripts=False,
)
