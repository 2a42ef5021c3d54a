"""Real nodes for the scripts, with our plugin."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.elasticsearch.node import ElasticsearchNode
from tests.elasticsearch.runtime import find_elasticsearch, find_elasticsearch_plugin
from tests.opensearch import node as nodes
from tests.opensearch.node import Cluster, Node
from tests.opensearch.runtime import Runtime, find_plugin, find_runtime

# Also on a machine that is busy with other things.
PATIENCE = 900


@contextmanager
def running_node(
    heap: str = "768m", brief: bool = True, engine: str = "opensearch"
) -> Iterator[Node]:
    """A node in a temporary folder; its log goes with it."""
    with _home() as home:
        if engine == "elasticsearch":
            nodes.START_SECONDS = PATIENCE
            make: type[Node] = ElasticsearchNode
            runtime = find_elasticsearch(_report)
            plugins = [find_elasticsearch_plugin(_report)]
        else:
            make, (runtime, plugins) = Node, _found()
        with make(runtime, home, heap=heap, brief=brief, plugins=plugins) as node:
            yield node


@contextmanager
def running_cluster(heap: str = "768m", brief: bool = True) -> Iterator[Cluster]:
    """Three nodes in a temporary folder; their logs go with them."""
    runtime, plugins = _found()
    with (
        _home() as home,
        Cluster(runtime, home, 3, heap=heap, brief=brief, plugins=plugins) as cluster,
    ):
        yield cluster


def _found() -> tuple[Runtime, list[Path]]:
    nodes.START_SECONDS = PATIENCE
    return find_runtime(_report), [find_plugin(_report)]


def _report(line: str) -> None:
    print(line, file=sys.stderr)  # noqa: T201


@contextmanager
def _home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="slice-os-soak-") as home:
        yield Path(home)
