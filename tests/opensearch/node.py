"""Real OpenSearch nodes as child processes, for tests and benchmarks.

``python -m tests.opensearch.node`` starts one, or with ``--nodes 3`` a cluster, and prints the
addresses; Ctrl-C stops them.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, TypeVar

from filelock import FileLock

from .runtime import Runtime, find_plugin, find_runtime

HEAP = os.environ.get("SLICE_OS_OPENSEARCH_HEAP", "1g")
MANAGER = "node-1"
START_SECONDS = 180
STOP_SECONDS = 60

_BRIEF = ("-XX:TieredStopAtLevel=1", "-Dsync=1s")
_HOST = "127.0.0.1"
_LOGGING = """\
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %-5p %c{1.} %m%n
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
"""


AnyNode = TypeVar("AnyNode", bound="Node")


class NodeError(Exception):
    """A node that did not start; the message has the end of its log."""


# Ports are given before anybody listens there.
_GIVEN: set[int] = set()


def free_port() -> int:
    """A free port of this machine.

    It lies below the range that systems take for outgoing connections, so that none of those
    takes it while a node is stopped.
    """
    for port in random.sample(sorted(set(range(20_000, 32_000)) - _GIVEN), 100):
        with socket.socket() as probe:
            try:
                probe.bind((_HOST, port))
            except OSError:
                continue
            _GIVEN.add(port)
            return port
    raise NodeError("no free port between 20000 and 32000")


@dataclass(slots=True)
class Node:
    """One node in its own JVM; a restart keeps its folder, ports and data.

    Attributes:
        runtime: the JDK and the class path.
        home: folder of the node's settings, data and ``node.log``.
        name: unique in a cluster.
        heap: heap size as the JVM takes it.
        brief: start quickly rather than run fast in the end, and let copies of a shard tell each
            other every second, not every 30, what they have.
        settings: entries of ``opensearch.yml``, which win over the usual ones.
        plugins: zips of plugins that are installed in the node.
        managers: names of the nodes that may manage the cluster.
        seeds: transport addresses (``host:port``) of other nodes, to find them.
    """

    runtime: Runtime
    home: Path
    _: KW_ONLY
    name: str = MANAGER
    heap: str = HEAP
    brief: bool = True
    settings: Mapping[str, Any] = field(default_factory=dict)
    plugins: Sequence[Path] = ()
    managers: Sequence[str] = (MANAGER,)
    seeds: Sequence[str] = ()
    http_port: int = field(default_factory=free_port, init=False)
    transport_port: int = field(default_factory=free_port, init=False)
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    settings_file: ClassVar[str] = "opensearch.yml"

    @property
    def url(self) -> str:
        """Where the node answers."""
        return f"http://{_HOST}:{self.http_port}"

    @property
    def transport_address(self) -> str:
        """Where other nodes find this one."""
        return f"{_HOST}:{self.transport_port}"

    @property
    def running(self) -> bool:
        """Whether the JVM is alive."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Of the JVM."""
        assert self._process is not None, f"{self.name} does not run"
        return self._process.pid

    def start(self) -> None:
        """Start the node and wait until its primary shards are active.

        Raises:
            NodeError: if it ends or does not answer in time.
        """
        self.launch()
        self.wait()

    def launch(self) -> None:
        """Start the JVM and return at once."""
        assert not self.running, f"{self.name} runs already"
        config = self.home / "config"
        config.mkdir(parents=True, exist_ok=True)
        # JSON is YAML.
        (config / self.settings_file).write_text(json.dumps(self._all_settings(), indent=1))
        (config / "log4j2.properties").write_text(_LOGGING)
        for plugin in self.plugins:
            shutil.unpack_archive(plugin, self.home / "plugins" / plugin.stem)
        with (self.home / "node.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(self.runtime.java, f"-Xms{self.heap}", f"-Xmx{self.heap}"),
                    # The quick compiler knows no vectors: it calls a method for each number.
                    *(_BRIEF if self.brief else ["--add-modules=jdk.incubator.vector"]),
                    *self._shared_classes(),
                    # As in the distribution: later collections trip OpenSearch's circuit breaker.
                    "-XX:G1ReservePercent=25",
                    "-XX:InitiatingHeapOccupancyPercent=30",
                    "--enable-native-access=ALL-UNNAMED",
                    "--add-opens=java.base/java.io=ALL-UNNAMED",
                    *("-cp", self.runtime.class_path, "StartNode", self.home),
                ],
                # The node ends at the end of this pipe, so also when we are killed.
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                # A Ctrl-C is for us, who then stop the node in order.
                start_new_session=True,
            )

    def wait(self, nodes: int = 1) -> None:
        """Wait until the cluster has that many nodes and every primary shard is active.

        Raises:
            NodeError: if the node ends or does not get there in time.
        """
        deadline = time.monotonic() + START_SECONDS
        path = f"/_cluster/health?wait_for_status=yellow&wait_for_nodes=>={nodes}&timeout=10s"
        while True:
            try:
                with urllib.request.urlopen(self.url + path, timeout=15) as response:
                    response.read()
                    return
            except (urllib.error.URLError, OSError) as error:
                problem = error
            if not self.running:
                raise NodeError(f"{self.name} ended while starting\n{self.log_tail()}")
            if time.monotonic() > deadline:
                raise NodeError(f"{self.name} is not ready: {problem}\n{self.log_tail()}")
            time.sleep(0.1)

    def stop(self) -> None:
        """Close the node in order; its data stays."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the node, as a power failure would; its data stays on the disk."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Stop the node and start it again on the same data and ports."""
        self.stop()
        self.start()

    def log_tail(self, lines: int = 30) -> str:
        """The end of the node's log."""
        text = (self.home / "node.log").read_text("utf-8", errors="replace")
        return "\n".join(text.splitlines()[-lines:])

    def __enter__(self) -> Node:
        try:
            self.start()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        with self._process as process:
            process.send_signal(number)
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                number = signal.SIGKILL
                process.kill()
        self._process = None
        if number == signal.SIGTERM and self._archive.is_file():
            moved = self.runtime.archive.with_suffix(f".{self.http_port}")
            shutil.move(self._archive, moved)
            moved.replace(self.runtime.archive)

    def _shared_classes(self) -> list[str]:
        quietly = ["-Xlog:cds=off", "-Xlog:aot=off"]
        if self.runtime.archive.is_file():
            return [f"-XX:SharedArchiveFile={self.runtime.archive}", *quietly]
        return [f"-XX:ArchiveClassesAtExit={self._archive}", *quietly]

    @property
    def _archive(self) -> Path:
        """Where this node leaves its classes if no node did before."""
        return self.home / self.runtime.archive.name

    def _all_settings(self) -> dict[str, Any]:
        return {
            "cluster.name": "slice-os-tests",
            "node.name": self.name,
            "node.roles": ["data", "ingest"] + ["cluster_manager"] * (self.name in self.managers),
            "network.host": _HOST,
            "http.port": self.http_port,
            "transport.port": self.transport_port,
            "discovery.seed_hosts": list(self.seeds),
            "cluster.initial_cluster_manager_nodes": [
                name for name in self.managers if self.name in self.managers
            ],
            # A full disk of a developer's machine must not make indices read-only.
            "cluster.routing.allocation.disk.threshold_enabled": False,
            **self.settings,
        }


@contextmanager
def node_of_its_own(node: AnyNode) -> Iterator[AnyNode]:
    """A node that runs for some tests alone; its folder is gone behind them."""
    with node:
        yield node
    shutil.rmtree(node.home)


@contextmanager
def shared_node(folder: Path, name: str, make: Callable[[Path], Node]) -> Iterator[str]:
    """The address of a node that all workers of a run share, in a folder that they share.

    The first that needs it starts it, and stops it when no other worker uses it any more.
    """
    home, address = folder / name, folder / f"{name}.txt"
    lock = FileLock(folder / f"{name}.lock")
    with ExitStack() as started, (folder / f"{name}.users").open("a") as users:
        with lock:
            fcntl.flock(users, fcntl.LOCK_SH)
            starts = not address.exists()
            if starts:
                address.write_text(started.enter_context(make(home)).url)
        yield address.read_text()
        if starts:
            with lock:
                fcntl.flock(users, fcntl.LOCK_EX)  # waits for the others
                address.unlink()
                started.close()
                shutil.rmtree(home)


class Cluster:
    """Several nodes, each in its own JVM.

    Of three, any one can be stopped alone; of two, any but the first.

    Args:
        runtime: the JDK and the class path.
        home: folder for their folders.
        size: how many.
        options: of every `Node`.
    """

    def __init__(
        self, runtime: Runtime, home: Path, size: int, *, heap: str = "512m", **options: Any
    ) -> None:
        names = [f"node-{number}" for number in range(1, size + 1)]
        managers = names if size > 2 else names[:1]
        self.nodes = [
            Node(runtime, home / name, name=name, heap=heap, managers=managers, **options)
            for name in names
        ]
        for node in self.nodes:
            node.seeds = [each.transport_address for each in self.nodes if each is not node]

    @property
    def urls(self) -> list[str]:
        """Where the nodes answer."""
        return [node.url for node in self.nodes]

    def __enter__(self) -> Cluster:
        with ExitStack() as started:
            for node in self.nodes:
                started.callback(node.stop)
                node.launch()
            for node in self.nodes:
                node.wait(nodes=len(self.nodes))
            started.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for node in reversed(self.nodes):
            node.stop()


def main() -> None:
    """Run nodes in a temporary folder until Ctrl-C."""
    parser = argparse.ArgumentParser(description="Run OpenSearch nodes until Ctrl-C.")
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--heap", default=HEAP, help="of each")
    chosen = parser.parse_args()

    def report(line: str) -> None:
        print(line, file=sys.stderr)  # noqa: T201

    runtime = find_runtime(report)
    options: dict[str, Any] = {
        "heap": chosen.heap,
        "brief": False,
        "plugins": [find_plugin(report)],
    }
    with (
        tempfile.TemporaryDirectory(prefix="slice-os-node-") as home,
        Cluster(runtime, Path(home), chosen.nodes, **options) as cluster,
        suppress(KeyboardInterrupt),
    ):
        print(*cluster.urls, flush=True)  # noqa: T201
        signal.pause()


if __name__ == "__main__":
    main()
