"""What a load leaves on disk, and that no replica lacks anything for it."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import Any

import pytest
from opensearchpy import OpenSearch, helpers

from slice_os import Corpus, IndexOptions, SpanEncoder
from slice_os.stores.cluster.loading import copies
from slice_os.stores.cluster.server.connection import IndexHandle

from .double import Double, serving
from .node import Cluster
from .proxy import Forward, Proxy, Reply, Request, proxying
from .support import concrete
from .texts import dialogues

STEP = 12
# Without a projection, whose record would outweigh so few passages.
PLAIN = IndexOptions(replicas=0, truncate_dim=384)
PASSAGES = {"query": {"term": {"kind": "passage"}}, "docvalue_fields": ["tokens"], "_source": False}


@pytest.fixture
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even the smallest index is worth merging."""
    monkeypatch.setattr(copies, "SMALLEST_BYTES", 0)


def stored_share(client: OpenSearch, index: str) -> float:
    """The share of stored fields, which hold the second copies, on disk."""
    client.indices.flush(index=index)
    client.indices.refresh(index=index)
    params = {"include_segment_file_sizes": "true"}
    stats = client.indices.stats(index=index, metric="segments", params=params)
    files = stats["_all"]["primaries"]["segments"]["file_sizes"]
    sizes = {kind: file["size_in_bytes"] for kind, file in files.items()}
    return float(sizes["fdt"] / sum(sizes.values()))


def segments(client: OpenSearch, index: str) -> int:
    client.indices.refresh(index=index)
    stats = client.indices.stats(index=index, metric="segments")["_all"]["primaries"]
    return int(stats["segments"]["count"])


def tokens(client: OpenSearch, index: str, copy: str) -> dict[str, str]:
    """Token vectors by passage id, as one copy of the shard has them."""
    client.indices.refresh(index=index)
    found = helpers.scan(client, PASSAGES, index=index, preference=copy)
    return {hit["_id"]: hit["fields"]["tokens"][0] for hit in found}


def assert_complete(client: OpenSearch, index: str, passages: int) -> None:
    """Both copies of the shard have all passages, with equal token vectors."""
    client.cluster.health(index=index, wait_for_status="green", request_timeout=60)
    primary, replica = (tokens(client, index, copy) for copy in ("_primary", "_replica"))
    assert len(primary) == passages
    assert replica == primary


def test_a_first_load_leaves_no_second_copies(
    any_size: None,
    small_requests: None,
    opensearch: OpenSearch,
    address: str,
    index_name: str,
    encoder: SpanEncoder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shares = []
    for suffix, some_copies in (("-kept", 1.0), ("", copies.SOME_COPIES)):
        monkeypatch.setattr(copies, "SOME_COPIES", some_copies)
        with Corpus(address + suffix, encoder, index=PLAIN) as corpus:
            corpus.add(dialogues(STEP))
        shares.append(stored_share(opensearch, concrete(opensearch, index_name + suffix)))
    kept, left = shares
    assert kept > 5 * left
    index = concrete(opensearch, index_name)
    assert segments(opensearch, index) == 1

    # Nothing was ever deleted, or a later merge would make all graphs anew.
    with Corpus(address, encoder) as corpus:
        corpus.add(dialogues(STEP + 1)[STEP:])
    assert segments(opensearch, index) == 2
    docs = opensearch.indices.stats(index=index, metric="docs")["_all"]["primaries"]["docs"]
    assert not docs["deleted"]


@pytest.mark.slow
@pytest.mark.release
def test_replicas_are_complete(
    any_size: None,
    two_nodes: Cluster,
    encoder: SpanEncoder,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One that is made later, and one that was away while others were merged."""
    location = f"{two_nodes.urls[0]}/compaction"
    with (
        OpenSearch(two_nodes.urls[0], timeout=60) as client,
        Corpus(location, encoder, index=PLAIN) as corpus,
    ):
        corpus.add(dialogues(STEP))
        index = concrete(client, "compaction")
        client.indices.put_settings(index=index, body={"index": {"number_of_replicas": 1}})
        assert_complete(client, index, corpus.info().passages)

        two_nodes.nodes[1].stop()
        client.cluster.health(index=index, wait_for_status="yellow", request_timeout=60)
        with caplog.at_level(logging.WARNING, logger="slice_os"), monkeypatch.context() as patch:
            patch.setattr(copies, "WAIT_SECONDS", 5.0)
            corpus.add(dialogues(3 * STEP)[STEP:])
        assert "a replica may still ask for what was loaded" in caplog.text
        merge: dict[str, Any] = {"max_num_segments": 1, "request_timeout": 60}
        client.indices.forcemerge(index=index, **merge)
        two_nodes.nodes[1].start()
        assert_complete(client, index, corpus.info().passages)

        corpus.add(dialogues(6 * STEP)[3 * STEP :])
        assert_complete(client, index, corpus.info().passages)
        assert stored_share(client, index) < copies.MANY_COPIES


@pytest.mark.parametrize("primary", [True, False])
def test_a_copy_that_is_being_made_is_waited_for(
    any_size: None,
    opensearch_url: str,
    index_name: str,
    encoder: SpanEncoder,
    caplog: pytest.LogCaptureFixture,
    primary: bool,
) -> None:
    """A node tells nothing of the writes in a shard that it still opens."""
    spoilt: list[str] = []

    def opening(request: Request, forward: Forward) -> Reply:
        reply = forward()
        if "/_stats/segments" not in request.path or len(spoilt) == 3:
            return reply
        answer = json.loads(reply.body)
        for index in answer["indices"].values():
            (copies,) = index["shards"].values()
            opened = copies[0]
            routing = opened["routing"] | {"primary": primary, "state": "INITIALIZING"}
            kept = {"routing": routing, "segments": opened["segments"]}
            index["shards"]["0"] = [kept] if primary else [opened, kept]
        spoilt.append(request.path)
        return replace(reply, body=json.dumps(answer).encode())

    with (
        proxying(Proxy(opensearch_url)) as proxy,
        Corpus(f"{proxy.url}/{index_name}", encoder, index=PLAIN) as corpus,
    ):
        proxy.fault = opening
        corpus.add(dialogues(STEP))
        assert len(corpus) == STEP
    assert len(spoilt) == 3
    assert primary or "twice the space" not in caplog.text


def test_a_busy_cluster_is_asked_for_replicas_again(caplog: pytest.LogCaptureFixture) -> None:
    answers = [
        (408, {"timed_out": True, "initializing_shards": 0, "number_of_in_flight_fetch": 0}),
        (200, {"timed_out": False, "initializing_shards": 1, "number_of_in_flight_fetch": 0}),
        (200, {"timed_out": False, "initializing_shards": 0, "number_of_in_flight_fetch": 0}),
    ]
    told = ((status, json.dumps(body).encode()) for status, body in answers)
    with serving(Double(lambda body: next(told))) as double, OpenSearch(double.url) as client:
        copies.await_replicas(IndexHandle(client, "calls", "there/calls"))
    assert len(double.headers) == len(answers)
    assert "until they are there" not in caplog.text
