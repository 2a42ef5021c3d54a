"""A cluster of three nodes loses workers and nodes; the soak `three_nodes` does so with more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from slice_os import Corpus, IndexOptions, SpanEncoder
from slice_os.errors import UnavailableError
from tests.soak.asking import DEMO, Plan, some_phrases, some_records, write_texts
from tests.soak.three_nodes import ThreeNodes, answers_of_one_node

from .node import Cluster
from .support import documents


@pytest.mark.slow
@pytest.mark.release
@pytest.mark.large
def test_workers_and_nodes_that_are_killed_change_no_answer(
    start_cluster: Callable[..., Cluster], address: str, encoder: SpanEncoder, tmp_path: Path
) -> None:
    records = list(some_records([DEMO], 8_000))
    plan = Plan(records, some_phrases(records, 50), away=1.0, small=True, bm25=False)
    write_texts(records, tmp_path)
    expected = answers_of_one_node(plan, encoder, address, tmp_path / "texts")
    cluster = start_cluster(3, heap="256m")
    three = ThreeNodes(cluster, plan, tmp_path, encoder)
    loaded = three.load("calls")
    assert loaded["documents"] == len(records)
    equal = three.compare("calls", expected)
    assert equal["searches_equal"] == equal["phrases"] == 50
    assert equal["mined"] >= 50
    answers = three.lose_node_under_searches("calls")
    assert all(answers[state]["complete"] for state in ("before", "away", "back"))

    # Without replicas, what a node held is away with it, and nothing hides that.
    options = IndexOptions(shards=3, replicas=0)
    with Corpus(three.location("alone"), encoder, index=options) as corpus:
        corpus.add(documents(12))
        questions: list[Callable[[], object]] = [
            lambda: corpus.search("cancel my order"),
            lambda: corpus.mine("cancel my order", threshold=0.6),
            lambda: corpus.mine("cancel my order", threshold=0.6, exhaustive=False),
            lambda: list(corpus),
            corpus.info,
        ]
        assert all(question() for question in questions)
        cluster.nodes[1].kill()
        three.client.cluster.health(wait_for_nodes="2", request_timeout=60)
        for question in questions:
            with pytest.raises(UnavailableError, match=r"shard|no node has") as caught:
                question()
            assert "\n" not in str(caught.value)
