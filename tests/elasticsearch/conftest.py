"""The node of Elasticsearch, for tests of the OpenSearch store that run on it, too."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from opensearchpy import OpenSearch

from slice_os.stores.cluster.server.connection import parse_location
from tests.opensearch.conftest import Report, built, runtime
from tests.opensearch.node import node_of_its_own, shared_node
from tests.opensearch.runtime import Runtime

from .node import ElasticsearchNode
from .runtime import find_elasticsearch, find_elasticsearch_plugin
from .shared import taken

SHARED = (
    *("address", "calls", "corpus", "index", "index_name", "location"),
    *("native_engine", "quick_lease", "report", "small_requests"),
)
globals().update(taken("opensearch.conftest", *SHARED))


@pytest.fixture(scope="session")
def elasticsearch_runtime(report: Report) -> Runtime:
    """What a node of Elasticsearch runs on."""
    return runtime(find_elasticsearch, report)


@pytest.fixture(scope="session")
def elasticsearch_plugins(report: Report) -> list[Path]:
    """Our own plugin for Elasticsearch."""
    return built(find_elasticsearch_plugin, report)


@pytest.fixture(scope="session")
def elasticsearch_url(request: pytest.FixtureRequest, shared_folder: Path) -> Iterator[str]:
    """The address of a node: ``ELASTICSEARCH_URL``, or one started here, for all workers.

    The one started here has our own plugin, if it can be built.
    """
    if url := os.environ.get("ELASTICSEARCH_URL"):
        yield url
        return
    runtime: Runtime = request.getfixturevalue("elasticsearch_runtime")
    plugins: list[Path] = request.getfixturevalue("elasticsearch_plugins")
    make = partial(ElasticsearchNode, runtime, plugins=plugins)
    with shared_node(shared_folder, "elasticsearch", make) as url:
        yield url


@pytest.fixture(scope="session")
def opensearch_url(elasticsearch_url: str) -> str:
    """In this folder, tests of the OpenSearch store have the node of Elasticsearch."""
    return elasticsearch_url


@pytest.fixture
def opensearch(elasticsearch_url: str) -> Iterator[OpenSearch]:
    """A client of the session's node, as the store makes it."""
    with parse_location(f"{elasticsearch_url}/none").client() as client:
        yield client


@pytest.fixture(scope="session")
def scriptless_node(
    elasticsearch_runtime: Runtime, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ElasticsearchNode]:
    """A node without our plugin, so without any scripts."""
    home = tmp_path_factory.mktemp("scriptless-node")
    with node_of_its_own(ElasticsearchNode(elasticsearch_runtime, home, heap="512m")) as node:
        yield node
