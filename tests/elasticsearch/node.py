"""A real Elasticsearch node as a child process, for tests and benchmarks.

``python -m tests.elasticsearch.node`` starts one and prints its address; Ctrl-C stops it.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from tests.opensearch.node import HEAP, Node

from .runtime import VERSION, find_elasticsearch, find_elasticsearch_plugin


class ElasticsearchNode(Node):
    """One node of Elasticsearch in its own JVM; see `Node`."""

    settings_file: ClassVar[str] = "elasticsearch.yml"

    def launch(self) -> None:
        """Start the JVM and return at once."""
        (self.home / "plugins").mkdir(parents=True, exist_ok=True)
        for part in ("modules", "plugins/missing"):
            with suppress(FileExistsError):
                (self.home / part).symlink_to(self.runtime.archive.parent / part)
        super().launch()

    def _all_settings(self) -> dict[str, Any]:
        return {
            "cluster.name": "slice-os-tests",
            "node.name": self.name,
            "discovery.type": "single-node",
            "network.host": "127.0.0.1",
            "http.port": self.http_port,
            "transport.port": self.transport_port,
            "action.destructive_requires_name": False,
            "cluster.routing.allocation.disk.threshold_enabled": False,
            **self.settings,
        }


def main() -> None:
    """Run a node in a temporary folder until Ctrl-C."""
    parser = argparse.ArgumentParser(description="Run an Elasticsearch node until Ctrl-C.")
    parser.add_argument("--version", default=VERSION)
    parser.add_argument("--heap", default=HEAP)
    chosen = parser.parse_args()

    def report(line: str) -> None:
        print(line, file=sys.stderr)  # noqa: T201

    runtime = find_elasticsearch(report, chosen.version)
    options: dict[str, Any] = {
        "heap": chosen.heap,
        "brief": False,
        "plugins": [find_elasticsearch_plugin(report, chosen.version)],
    }
    with (
        tempfile.TemporaryDirectory(prefix="slice-os-node-") as home,
        ElasticsearchNode(runtime, Path(home), **options) as node,
        suppress(KeyboardInterrupt),
    ):
        print(node.url, flush=True)  # noqa: T201
        signal.pause()


if __name__ == "__main__":
    main()
