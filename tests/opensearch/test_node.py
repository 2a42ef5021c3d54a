from __future__ import annotations

from typing import Any

import pytest
from opensearchpy import OpenSearch

from .node import Node

DIMENSION = 4
METHOD = {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"}
VECTOR = {"type": "knn_vector", "dimension": DIMENSION, "method": METHOD}
INDEX: dict[str, Any] = {
    "settings": {"index.knn": True, "number_of_shards": 1, "number_of_replicas": 0},
    "mappings": {"properties": {"spans": {"type": "nested", "properties": {"vec": VECTOR}}}},
}
DOCUMENTS = {
    "east-or-up": [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]],
    "north": [[0.0, 1.0, 0.0, 0.0]],
    "north-east": [[0.7, 0.7, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]],
}


def fill(client: OpenSearch, index: str) -> None:
    client.indices.create(index=index, body=INDEX)
    for name, vectors in DOCUMENTS.items():
        spans = [{"vec": vector} for vector in vectors]
        client.index(index=index, id=name, body={"spans": spans}, refresh=True)


def nearest(client: OpenSearch, index: str, vector: list[float]) -> dict[str, float]:
    """Cosine of each document's best span, in the order of the node's answer."""
    knn = {"spans.vec": {"vector": vector, "k": 3}}
    query = {"nested": {"path": "spans", "score_mode": "max", "query": {"knn": knn}}}
    answer = client.search(index=index, body={"query": query, "_source": False})
    return {hit["_id"]: 2 * hit["_score"] - 1 for hit in answer["hits"]["hits"]}


def assert_searchable(client: OpenSearch, index: str) -> None:
    cosines = nearest(client, index, [1.0, 0.0, 0.0, 0.0])
    assert list(cosines) == ["east-or-up", "north-east", "north"]
    assert list(cosines.values()) == pytest.approx([1.0, 0.5**0.5, 0.0], abs=1e-5)


def test_node_has_the_knn_plugin(opensearch: OpenSearch) -> None:
    info = opensearch.info()["version"]
    plugins = {plugin["component"] for plugin in opensearch.cat.plugins(format="json")}
    assert info["distribution"] == "opensearch"
    assert "opensearch-knn" in plugins


def test_nested_vectors_are_searched(opensearch: OpenSearch, index_name: str) -> None:
    fill(opensearch, index_name)
    assert_searchable(opensearch, index_name)


@pytest.mark.slow
@pytest.mark.release
def test_restart_and_kill_keep_the_data(tight_node: Node) -> None:
    client = OpenSearch(tight_node.url, timeout=60)
    fill(client, "kept")
    tight_node.restart()
    assert_searchable(client, "kept")
    tight_node.kill()
    assert not tight_node.running
    tight_node.start()
    assert_searchable(client, "kept")
    pools = next(iter(client.nodes.info(metric="thread_pool")["nodes"].values()))["thread_pool"]
    assert pools["write"]["queue_size"] == 1
