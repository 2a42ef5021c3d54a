"""Fusion on the server: with the neural-search plugin, and as far as possible without it.

The node of the tests has the plugin in the versions that Maven Central has it for; see pom.xml.
"""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest
from opensearchpy import OpenSearch, exceptions

from slice_os import AsyncCorpus, Corpus, Hits, SpanEncoder, StoreError
from slice_os.query.filters import parse_where
from slice_os.query.fusion import BM25_WEIGHT
from slice_os.query.options import NUM_CANDIDATES, SearchOptions
from slice_os.search.run import best_hits, make_query
from slice_os.stores.cluster.search import hybrid
from slice_os.stores.cluster.search.searches import Asked

pytestmark = pytest.mark.version

COUNT = 12
PHRASES = ["please change my seat", "I need my boarding pass"]


def has_plugin(client: OpenSearch) -> bool:
    return hybrid.installed(client.cat.plugins(format="json"))


def test_the_plugin_is_detected() -> None:
    there = [{"component": "opensearch-knn"}, {"component": "opensearch-neural-search"}]
    assert hybrid.installed(there)
    assert not hybrid.installed(there[:1])
    assert not hybrid.installed([])


def test_without_the_plugin_one_line_says_so(calls: Corpus, opensearch: OpenSearch) -> None:
    if has_plugin(opensearch):
        pytest.skip("this node has the neural-search plugin")
    with pytest.raises(StoreError, match="neural-search plugin, which is not installed") as caught:
        calls.search(PHRASES, fusion="server")
    assert "\n" not in str(caught.value)


def test_asyncio_does_the_same(
    calls: Corpus, location: str, encoder: SpanEncoder, opensearch: OpenSearch
) -> None:
    pytest.importorskip("aiohttp", reason="no aiohttp: pip install 'slice-os[async]'")

    async def ask() -> Hits:
        async with AsyncCorpus(location, encoder) as there:
            return await there.search(PHRASES, fusion="server")

    if has_plugin(opensearch):
        assert list(asyncio.run(ask())) == list(calls.search(PHRASES, fusion="server"))
        return
    with pytest.raises(StoreError, match="neural-search plugin, which is not installed"):
        asyncio.run(ask())


def test_with_the_plugin_the_server_ranks(calls: Corpus, opensearch: OpenSearch) -> None:
    if not has_plugin(opensearch):
        pytest.skip("no neural-search plugin on this node; set OPENSEARCH_VERSION=3.6.0")
    found = calls.search(PHRASES, fusion="server", top_k=5, order="score")
    assert [hit.score for hit in found] == sorted((hit.score for hit in found), reverse=True)
    for phrase in PHRASES:
        exact = {hit.passage: hit.cosine for hit in calls.search(phrase, top_k=NUM_CANDIDATES)}
        for hit in calls.search(phrase, fusion="server", top_k=5, order="score"):
            assert hit.cosine == pytest.approx(exact[hit.passage], abs=1e-4)


def test_a_node_without_the_plugin_knows_neither(calls: Corpus, opensearch: OpenSearch) -> None:
    """Query and processor are refused by name, so the rest of the body is valid."""
    if has_plugin(opensearch):
        pytest.skip("this node has the neural-search plugin")
    (body,) = bodies(calls, PHRASES[:1])
    with pytest.raises(exceptions.RequestError, match="hybrid"):
        opensearch.search(index=calls.store.handle.name, body={"query": body["query"]})  # type: ignore[attr-defined]
    with pytest.raises(exceptions.RequestError, match="normalization-processor"):
        opensearch.search(
            index=calls.store.handle.name,  # type: ignore[attr-defined]
            body={"search_pipeline": body["search_pipeline"]},
        )


def test_its_parts_work_as_searches(calls: Corpus, opensearch: OpenSearch) -> None:
    for body in bodies(calls, PHRASES):
        parts = body["query"]["hybrid"]["queries"]
        assert len(parts) == 2
        for part in parts:
            answer = opensearch.search(
                index=calls.store.handle.name,  # type: ignore[attr-defined]
                body={"query": part, "size": body["size"], "_source": False},
            )
            assert answer["hits"]["hits"]
        (processor,) = body["search_pipeline"]["phase_results_processors"]
        combination = processor["normalization-processor"]["combination"]
        assert combination["parameters"]["weights"] == [1 - BM25_WEIGHT, BM25_WEIGHT]


def test_the_scores_are_the_servers(calls: Corpus) -> None:
    """From answers of the form that the plugin's documentation shows."""
    query = make_query(calls.encoder, PHRASES)
    candidates = calls.store.rank(query, 5)
    first, second, third = candidates.keys[:3]

    def hit(key: Any, score: float) -> dict[str, Any]:
        place = {"doc_id": [passages[key].doc_id], "ordinal": [int(key.rpartition("-")[2])]}
        return {"fields": place, "_score": score}

    passages = candidates.load(candidates.keys)
    answers = [
        {"hits": {"hits": [hit(second, 0.9), hit(first, 0.2)]}},
        {"hits": {"hits": [hit(third, 1.0)]}},
    ]
    scores = hybrid.scores(answers, candidates.keys)  # type: ignore[arg-type]
    assert scores.shape == (2, len(candidates.keys))
    assert scores[:, :3].tolist() == [
        [pytest.approx(0.2), pytest.approx(0.9), -np.inf],
        [-np.inf, -np.inf, 1.0],
    ]
    assert np.isneginf(scores[:, 3:]).all()
    found = best_hits(candidates, scores, query, SearchOptions())
    assert found.passages == 3
    assert [hit.score for hit in found.hits] == pytest.approx([1.0, 0.9, 0.2])
    assert [hit.phrase for hit in found.hits] == [PHRASES[1], PHRASES[0], PHRASES[0]]


def bodies(calls: Corpus, phrases: list[str]) -> list[dict[str, Any]]:
    query = make_query(calls.encoder, phrases, parse_where({"domain": ["airline"]}))
    return hybrid.bodies(Asked(calls.store.settings, query), 10)  # type: ignore[attr-defined]
