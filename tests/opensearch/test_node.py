from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from opensearchpy import OpenSearch

from .node import Cluster, Node

DIMENSION = 4
INDEX: dict[str, Any] = {
    "settings": {"index.knn": True, "number_of_shards": 1, "number_of_replicas": 0},
    "mappings": {
        "properties": {
            "spans": {
                "type": "nested",
                "properties": {
                    "vec": {
                        "type": "knn_vector",
                        "dimension": DIMENSION,
                        "method": {
                            "name": "hnsw",
                            "engine": "lucene",
                            "space_type": "cosinesimil",
                        },
                    }
                },
            }
        }
    },
}
DOCUMENTS = {
    "east-or-up": [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]],
    "north": [[0.0, 1.0, 0.0, 0.0]],
    "north-east": [[0.7, 0.7, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]],
}


def fill(client: OpenSearch, index: str, replicas: int = 0) -> None:
    settings = {**INDEX["settings"], "number_of_replicas": replicas}
    client.indices.create(index=index, body={**INDEX, "settings": settings})
    for name, vectors in DOCUMENTS.items():
        spans = [{"vec": vector} for vector in vectors]
        client.index(index=index, id=name, body={"spans": spans}, refresh=True)


def nearest(client: OpenSearch, index: str, vector: list[float]) -> dict[str, float]:
    """Cosine of each document's best span, in the order that the node gives."""
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


def test_restart_and_kill_keep_the_data(start_node: Callable[..., Node]) -> None:
    node = start_node(heap="512m", settings={"thread_pool.write.queue_size": 7})
    client = OpenSearch(node.url, timeout=60)
    fill(client, "kept")
    node.restart()
    assert_searchable(client, "kept")
    node.kill()
    assert not node.running
    node.start()
    assert_searchable(client, "kept")
    pools = next(iter(client.nodes.info(metric="thread_pool")["nodes"].values()))["thread_pool"]
    assert pools["write"]["queue_size"] == 7


def test_replicas_outlive_a_stopped_node(start_cluster: Callable[..., Cluster]) -> None:
    cluster = start_cluster(2)
    client = OpenSearch(cluster.urls[0], timeout=60)
    fill(client, "shared", replicas=1)
    assert client.cluster.health(wait_for_status="green", timeout=60)["status"] == "green"
    cluster.nodes[1].stop()
    health = client.cluster.health(wait_for_nodes="1", wait_for_status="yellow", timeout=60)
    assert (health["number_of_nodes"], health["status"]) == (1, "yellow")
    assert_searchable(client, "shared")
    cluster.nodes[1].start()
    assert client.cluster.health(wait_for_status="green", timeout=60)["status"] == "green"
    assert_searchable(OpenSearch(cluster.urls[1], timeout=60), "shared")
