"""Benchmarks of the OpenSearch store run at their smallest."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from opensearchpy import OpenSearch

from tests.test_scripts import data, place, run_script, store, whole

__all__ = ["data", "place", "store", "whole"]

SCRIPTS = [
    (
        "benchmarks/copy_store.py {store} {node}/copied",
        "benchmarks/server_search.py --url {node}/copied --local {store} --phrases contracts "
        "--data {data} --count 3",
    ),
    ("benchmarks/growth.py --url {node} --local {store} --data {data} --tokens 2000 --phrases 3",),
    ("benchmarks/index_plan.py --url {node} --data {data} --corpus dialogues --wait 0",),
    (
        "benchmarks/index_size.py --url {node} --store {store} --corpus contracts --data {data} "
        "--phrases 3",
    ),
]

pytestmark = [pytest.mark.slow, pytest.mark.release]


@pytest.fixture
def node(opensearch: OpenSearch, opensearch_url: str) -> Iterator[str]:
    """The address of the session's node; what scripts leave there is deleted."""
    yield opensearch_url
    for name in ("copied", "growth-", "plan-", "some-"):
        for index in opensearch.indices.get(index=f"{name}*", expand_wildcards="all"):
            opensearch.indices.delete(index=index)
        for template in (f"{name}*", f"slice-os-{name}*"):
            opensearch.indices.delete_index_template(name=template, ignore=[404])


@pytest.mark.parametrize("lines", SCRIPTS, ids=lambda lines: lines[-1].split()[0])
def test_a_script_runs(lines: tuple[str, ...], place: Path, request: pytest.FixtureRequest) -> None:
    if "growth" in lines[0]:
        pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    for line in lines:
        names = re.findall(r"\{(\w+)\}", line)
        run_script(line.format(**{name: request.getfixturevalue(name) for name in names}), place)
