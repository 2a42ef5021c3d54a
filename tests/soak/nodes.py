"""Real OpenSearch nodes for the scripts, with our plugin."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.opensearch import node as nodes
from tests.opensearch.node import Cluster, Node
from tests.opensearch.runtime import Runtime, find_plugin, find_runtime


@contextmanager
def running_node(heap: str = "768m", brief: bool = True) -> Iterator[Node]:
    """A node in a temporary folder; its log goes with it."""
    runtime, plugins = _found()
    with (
        _home() as home,
        Node(runtime, home, heap=heap, brief=brief, plugins=plugins) as node,
    ):
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
    def report(line: str) -> None:
        print(line, file=sys.stderr)  # noqa: T201

    # Also on a machine that is busy with other things.
    nodes.START_SECONDS = 900
    return find_runtime(report), [find_plugin(report)]


@contextmanager
def _home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="slice-os-soak-") as home:
        yield Path(home)
