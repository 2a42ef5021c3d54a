"""Fixtures for a real OpenSearch node; if one cannot run, one line says what is missing."""

from __future__ import annotations

import os
import shutil
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from opensearchpy import OpenSearch

from slice_os import Corpus, SpanEncoder
from slice_os.stores.cluster.loading import bulk, lease
from slice_os.stores.cluster.loading import writer as writing

from .node import Cluster, Node, node_of_its_own, shared_node
from .runtime import Runtime, RuntimeMissingError, find_plugin, find_runtime
from .support import Index
from .texts import index_of

Report = Callable[[str], None]


@pytest.fixture(scope="session")
def report(pytestconfig: pytest.Config) -> Report:
    """Writes a line to the terminal at once."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")

    def report(line: str) -> None:
        with capture.global_and_fixture_disabled():
            sys.stderr.write(f"\n{line}")
            sys.stderr.flush()

    return report


def runtime(find: Callable[[Report], Runtime], report: Report) -> Runtime:
    """The JDK and the jars; skips if they are unavailable, and fails under CI=true."""
    try:
        return find(report)
    except RuntimeMissingError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def opensearch_runtime(report: Report) -> Runtime:
    """What a node of OpenSearch runs on."""
    return runtime(find_runtime, report)


@pytest.fixture(scope="session")
def plugins(report: Report) -> list[Path]:
    """Our own plugin for OpenSearch."""
    return built(find_plugin, report)


def built(find: Callable[[Report], Path], report: Report) -> list[Path]:
    """Our own plugin, or nothing if it cannot be built, which fails under CI=true."""
    try:
        return [find(report)]
    except RuntimeMissingError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error), pytrace=False)
        report(f"The node has no native script engine: {error}")
        return []


@pytest.fixture(scope="session")
def opensearch_url(request: pytest.FixtureRequest, shared_folder: Path) -> Iterator[str]:
    """The address of a node with the k-NN plugin: ``OPENSEARCH_URL``, or one started here.

    The one started here also has our own plugin, if it can be built.
    """
    if url := os.environ.get("OPENSEARCH_URL"):
        yield url
        return
    runtime: Runtime = request.getfixturevalue("opensearch_runtime")
    plugins: list[Path] = request.getfixturevalue("plugins")
    make = partial(Node, runtime, plugins=plugins)
    with shared_node(shared_folder, "node", make) as url:
        yield url


@pytest.fixture
def opensearch(opensearch_url: str) -> Iterator[OpenSearch]:
    """A client of the session's node."""
    with OpenSearch(opensearch_url, timeout=60) as client:
        yield client


@pytest.fixture
def native_engine(opensearch: OpenSearch) -> None:
    """Skips if the session's node does not have our plugin; other nodes of the tests never do."""
    installed = {plugin["component"] for plugin in opensearch.cat.plugins(format="json")}
    if "slice-os-span-score" not in installed:
        pytest.skip(
            "the node has no plugin slice-os-span-score; plugin/README.md says how to build it"
        )


@pytest.fixture
def index_name(opensearch: OpenSearch) -> Iterator[str]:
    """A name for this test alone; indices and templates beginning with it are deleted after."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    yield name
    for index in opensearch.indices.get(index=f"{name}*", expand_wildcards="all"):
        opensearch.indices.delete(index=index)
    for template in (f"{name}*", f"slice-os-{name}*"):
        opensearch.indices.delete_index_template(name=template, ignore=[404])


@pytest.fixture
def address(opensearch_url: str, index_name: str) -> str:
    """Of an index for this test alone."""
    return f"{opensearch_url}/{index_name}"


@pytest.fixture
def index(opensearch: OpenSearch, index_name: str) -> Index:
    """What the server has at that address."""
    return Index(opensearch, index_name)


@pytest.fixture
def corpus(address: str, encoder: SpanEncoder) -> Iterator[Corpus]:
    """The corpus at that address, where nothing is yet."""
    with Corpus(address, encoder) as corpus:
        yield corpus


@pytest.fixture(scope="module")
def location(
    request: pytest.FixtureRequest, opensearch_url: str, encoder: SpanEncoder
) -> Iterator[str]:
    """The address of an index of so many dialogues as the COUNT of a module says."""
    with index_of(request.module.COUNT, opensearch_url, encoder) as location:
        yield location


@pytest.fixture(scope="session")
def tight_node(
    opensearch_runtime: Runtime, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Node]:
    """A node that tests may stop, if they start it again, and that is easily too busy."""
    home = tmp_path_factory.mktemp("tight-node")
    settings = {"thread_pool.write.size": 1, "thread_pool.write.queue_size": 1}
    node = Node(opensearch_runtime, home, heap="512m", settings=settings)
    with node_of_its_own(node):
        yield node


@pytest.fixture(scope="session")
def scriptless_node(
    opensearch_runtime: Runtime, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Node]:
    """A node that runs no scripts."""
    home, settings = tmp_path_factory.mktemp("scriptless-node"), {"script.allowed_types": "none"}
    node = Node(opensearch_runtime, home, heap="512m", settings=settings)
    with node_of_its_own(node):
        yield node


@pytest.fixture
def calls(location: str, encoder: SpanEncoder) -> Iterator[Corpus]:
    """The index at that location."""
    with Corpus(location, encoder) as corpus:
        yield corpus


@pytest.fixture(scope="session")
def two_nodes(
    opensearch_runtime: Runtime, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """Two nodes; tests may stop the second, if they start it again."""
    home = tmp_path_factory.mktemp("two-nodes")
    with Cluster(opensearch_runtime, home, 2) as cluster:
        yield cluster
    shutil.rmtree(home)


@pytest.fixture
def start_cluster(opensearch_runtime: Runtime, tmp_path: Path) -> Iterator[Callable[..., Cluster]]:
    """Starts several nodes: ``start_cluster(2, settings={...})``."""
    with ExitStack() as clusters:

        def start(size: int, **options: Any) -> Cluster:
            home = tmp_path / f"cluster-{uuid.uuid4().hex[:6]}"
            clusters.callback(shutil.rmtree, home)
            return clusters.enter_context(Cluster(opensearch_runtime, home, size, **options))

        yield start


@pytest.fixture
def small_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few documents make many requests."""
    monkeypatch.setattr(bulk, "CHUNK_ACTIONS", 5)
    monkeypatch.setattr(writing, "LOOKUP_DOCUMENTS", 2)


@pytest.fixture
def quick_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that is silent for a moment counts as gone."""
    monkeypatch.setattr(lease, "BEAT_SECONDS", 0.2)
    monkeypatch.setattr(lease, "SILENCE_SECONDS", 2.0)
