"""`slice-os index plan`, and the page that quotes it."""

from __future__ import annotations

import json
import runpy
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from slice_os.cli import cli
from slice_os.stores.opensearch.versions.planning import (
    DISK_BYTES,
    GIB,
    MERGE_HEAP_BYTES,
    plan_index,
)

REPOSITORY = Path(__file__).parents[1]
RESULTS = REPOSITORY / "benchmarks" / "results" / "index_plan.json"


def plan(*arguments: str) -> str:
    done = CliRunner().invoke(cli, ["index", "plan", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_plan_for_people_and_for_programs() -> None:
    found: dict[str, Any] = json.loads(plan("--tokens", "1e9", "--replicas", "2", "--json"))
    assert found["tokens"] == 1_000_000_000
    assert found["shards"] * found["shard_bytes"] == pytest.approx(1e9 * DISK_BYTES)
    assert found["index_bytes"] == 3e9 * DISK_BYTES
    assert found["disk_bytes"] > found["index_bytes"]
    text = plan("--tokens", "1e9", "--replicas", "2", "--text")
    assert f"{found['shards']} of 28 GB" in text
    assert f"{found['nodes']} of 64 GiB" in text


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


@pytest.mark.parametrize("tokens", ["0", "-5", "nan", "inf", "many"])
def test_other_numbers_are_refused(tokens: str) -> None:
    done = CliRunner().invoke(cli, ["index", "plan", "--tokens", tokens])
    assert done.exit_code == 2
    assert "--tokens" in done.output


def test_the_tables_of_the_page_are_current() -> None:
    fill = runpy.run_path(str(REPOSITORY / "docs" / "make_sizing.py"))["fill"]
    page = (REPOSITORY / "docs" / "sizing.md").read_text("utf-8")
    assert page == fill(page, RESULTS), "run docs/make_sizing.py"


def test_the_plan_comes_near_what_a_real_node_needed() -> None:
    for corpus, row in json.loads(RESULTS.read_text("utf-8")).items():
        planned = plan_index(row["tokens"], replicas=0)
        assert planned.index_bytes == pytest.approx(row["found"]["index_bytes"], rel=0.15), corpus
