"""Benchmarks of the OpenSearch store run at their smallest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from opensearchpy import OpenSearch

from tests.test_scripts import data, place, run_script, store, whole

__all__ = ["data", "place", "store", "whole"]

# By what the names of their indices begin with; other workers use the same node.
SCRIPTS = {
    "copied": (
        "benchmarks/copy_store.py {store} {node}/copied",
        "benchmarks/server_search.py --url {node}/copied --local {store} --phrases contracts "
        "--data {data} --count 3",
    ),
    "growth-": (
        "benchmarks/growth.py --url {node} --local {store} --data {data} --tokens 2000 --phrases 3",
    ),
    "plan-": ("benchmarks/index_plan.py --url {node} --data {data} --corpus dialogues --wait 0",),
    "some-": (
        "benchmarks/index_size.py --url {node} --store {store} --corpus contracts --data {data} "
        "--phrases 3",
    ),
}

pytestmark = [pytest.mark.slow, pytest.mark.release, pytest.mark.large]


@pytest.fixture
def node(prefix: str, opensearch: OpenSearch, opensearch_url: str) -> Iterator[str]:
    """The address of the session's node; what a script leaves there is deleted."""
    yield opensearch_url
    for index in opensearch.indices.get(index=f"{prefix}*", expand_wildcards="all"):
        opensearch.indices.delete(index=index)
    for template in (f"{prefix}*", f"slice-os-{prefix}*"):
        opensearch.indices.delete_index_template(name=template, ignore=[404])


@pytest.mark.parametrize("prefix", SCRIPTS)
def test_a_script_runs(prefix: str, place: Path, request: pytest.FixtureRequest) -> None:
    if prefix == "growth-":
        pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    for line in SCRIPTS[prefix]:
        names = re.findall(r"\{(\w+)\}", line)
        run_script(line.format(**{name: request.getfixturevalue(name) for name in names}), place)
