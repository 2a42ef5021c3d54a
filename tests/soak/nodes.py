"""A real OpenSearch node for the scripts, with our plugin, and small requests of many processes."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.opensearch import node as nodes
from tests.opensearch.node import Node
from tests.opensearch.runtime import find_plugin, find_runtime


@contextmanager
def running_node() -> Iterator[Node]:
    """A node in a temporary folder; its log goes with it."""

    def report(line: str) -> None:
        print(line, file=sys.stderr)  # noqa: T201

    # Also on a machine that is busy with other things.
    nodes.START_SECONDS = 900
    runtime, plugins = find_runtime(report), [find_plugin(report)]
    with (
        tempfile.TemporaryDirectory(prefix="slice-os-soak-") as home,
        Node(runtime, Path(home), heap="768m", plugins=plugins) as node,
    ):
        yield node
