"""The plan of an index, and the page that quotes it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.sizing import GIB, MERGE_HEAP_BYTES, fill, plan_index

REPOSITORY = Path(__file__).parents[1]
RESULTS = REPOSITORY / "benchmarks" / "results" / "index_plan.json"


def test_a_copy_needs_a_node_of_its_own() -> None:
    assert [plan_index(1, replicas=replicas).nodes for replicas in range(3)] == [1, 2, 3]
    assert plan_index(1).shards == 1


@pytest.mark.parametrize("memory", [8 * GIB, 64 * GIB, 512 * GIB])
@pytest.mark.parametrize("tokens", [10**5, 10**8, 10**10])
def test_what_is_searched_and_merged_fits_in_memory(tokens: int, memory: int) -> None:
    found = plan_index(tokens, node_memory=memory)
    page_cache = found.nodes * (memory - found.heap_bytes)
    merge = tokens / found.shards * MERGE_HEAP_BYTES
    assert found.page_cache_bytes <= page_cache
    assert 2 * merge <= found.heap_bytes * (1 + 1e-9)
    assert found.heap_bytes <= min(memory / 2, 31 * GIB)
    assert found.shard_bytes <= 30e9


def test_time_falls_with_cores_and_rises_with_copies() -> None:
    few, many = plan_index(10**9, cores=8), plan_index(10**9, cores=16)
    assert few.ingest_hours == 2 * many.ingest_hours
    assert few.merge_hours == many.merge_hours
    assert plan_index(10**6, replicas=0).merge_hours <= plan_index(10**6).merge_hours


def test_the_tables_of_the_page_are_current() -> None:
    page = (REPOSITORY / "docs" / "sizing.md").read_text("utf-8")
    assert page == fill(page, RESULTS), "run benchmarks/sizing.py"


def test_the_plan_comes_near_what_a_real_node_needed() -> None:
    for corpus, row in json.loads(RESULTS.read_text("utf-8")).items():
        planned = plan_index(row["tokens"], replicas=0)
        assert planned.index_bytes == pytest.approx(row["found"]["index_bytes"], rel=0.15), corpus
