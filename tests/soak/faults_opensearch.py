"""Faults of a server and of the way to it, at many requests of each command.

    python -m tests.soak.faults_opensearch --out benchmarks/results/soak_faults_opensearch.json

A proxy in front of a real node refuses, cuts and delays answers, or leaves shards out; the node is
paused; the index becomes read-only, or is deleted. A command completes as without the fault, or
ends with one line and a status of its own: never with a traceback, never with an answer that lacks
something. Then the same command, without the fault, gives what it gives elsewhere.
"""

from __future__ import annotations

import io
import math
import os
import re
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from opensearchpy import OpenSearch, exceptions

from slice_os import SpanEncoder
from slice_os.cli import main as run_cli
from slice_os.cli.options import EncoderChoice
from slice_os.stores.cluster.search import server_flows
from slice_os.stores.cluster.search.scripted import NATIVE, PAINLESS, ScriptEngine
from slice_os.stores.cluster.server import connection
from slice_os.stores.cluster.server.answers import VARIABLE
from tests.opensearch.node import Node
from tests.opensearch.proxy import (
    Fault,
    Forward,
    Proxy,
    Reply,
    Request,
    closed,
    cut,
    no_fault,
    page,
    proxying,
    refusing,
    shards_failed,
    shortened,
    slow,
    timed_out,
)
from tests.opensearch.support import assert_as_if_in_one_go, concrete, dialogues, write_lines
from tests.soak.children import make_requests_small
from tests.soak.nodes import running_node
from tests.soak.report import noted, options, tell

DOCUMENTS = 8
TIMEOUT_SECONDS = 8
RETRY_SECONDS = 4.0
MOST_MOMENTS = 3
PHRASES = ("-p", "what is the status of my order", "-p", "please change my seat")
BLOCKS = ("index.blocks.write", "index.blocks.read_only_allow_delete")
ENGINES: dict[str, ScriptEngine | None] = {"native": NATIVE, "painless": PAINLESS, "client": None}


@dataclass(frozen=True)
class Operation:
    """A command.

    Attributes:
        name: with the engine that scores.
        arguments: of `slice-os`, without the store.
        engine: that scores; "native" where none does.
    """

    name: str
    arguments: tuple[str, ...]
    engine: str = "native"

    @property
    def writes(self) -> bool:
        """Whether it changes the index."""
        return self.name == "ingest"


@dataclass(frozen=True)
class Ended:
    """What a command did."""

    status: int
    output: str
    errors: tuple[str, ...]
    crashes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cell:
    """A fault, and how often it occurs.

    Attributes:
        name: in the report.
        fault: of a request.
        lasting: from one request on; otherwise at one request only.
        timeout: seconds after which the client gives a request up.
        moments: at how many requests of a command it is tried.
    """

    name: str
    fault: Fault
    lasting: bool = False
    timeout: int = TIMEOUT_SECONDS
    moments: int = MOST_MOMENTS


def operations(records: Path) -> list[Operation]:
    asked = [
        Operation(f"{name}, {engine}", (*arguments, "--json"), engine)
        for engine in ENGINES
        for name, arguments in (
            ("search", ("search", PHRASES[1], *PHRASES[2:])),
            ("mine", ("mine", *PHRASES, "--threshold", "0.5")),
            ("mine --candidates", ("mine", *PHRASES, "--threshold", "0.5", "--candidates")),
        )
    ]
    others = [Operation(name, ("store", name)) for name in ("list", "info", "check")]
    return [Operation("ingest", ("ingest", str(records), "--source", "calls")), *asked, *others]


class Bench:
    """An index, and another one that every fault leaves alone.

    Args:
        folder: for the records and dead letters.
        node: that has the indices.
        proxy: in front of it.
    """

    def __init__(self, folder: Path, node: Node, proxy: Proxy) -> None:
        self.node = node
        self.proxy = proxy
        self.client = OpenSearch(node.url, timeout=60)
        self.records = write_lines(folder / "dialogues.jsonl", dialogues(DOCUMENTS))
        self.operations = operations(self.records)
        self.encoder = SpanEncoder()
        for alias in ("asked", "expected"):
            assert self.run(self.operations[0], alias).status == 0
        self.answers: dict[str, Ended] = {}
        self.requests: dict[str, int] = {}
        for operation in self.operations:
            before = proxy.requests
            self.answers[operation.name] = self.run(operation, self.alias(operation))
            self.requests[operation.name] = proxy.requests - before
            assert self.answers[operation.name].status == 0, self.answers[operation.name]
        self.drop()

    def alias(self, operation: Operation) -> str:
        """The index that a command has."""
        return "written" if operation.writes else "asked"

    def drop(self) -> None:
        """Delete what was written."""
        self.client.indices.delete(index="written*")

    def run(self, operation: Operation, alias: str) -> Ended:
        written = io.BytesIO(), io.BytesIO()
        out, err = (io.TextIOWrapper(stream, "utf-8", write_through=True) for stream in written)
        engine = ENGINES[operation.engine]
        status: int | str | None = None
        crashes: list[str] = []
        with (
            mock.patch.object(server_flows, "best_engine", return_value=engine),
            mock.patch.object(sys, "stdout", out),
            mock.patch.object(sys, "stderr", err),
            mock.patch.object(threading, "excepthook", lambda told: crashes.append(repr(told))),
            mock.patch.object(EncoderChoice, "for_store", return_value=self.encoder),
        ):
            try:
                run_cli([*operation.arguments, "--store", f"{self.proxy.url}/{alias}"])
            except SystemExit as ended:
                status = ended.code
            except BaseException as error:
                crashes.append(repr(error))
        output, errors = (stream.getvalue().decode() for stream in written)
        return Ended(int(status or 0), output, tuple(errors.splitlines()), tuple(crashes))

    def try_at(self, operation: Operation, cell: Cell, moment: int) -> str:
        """Run a command with a fault at one of its requests; what came of it."""
        alias, expected = self.alias(operation), self.answers[operation.name]
        first = self.proxy.requests + moment

        def fault(request: Request, forward: Forward) -> Reply:
            hit = request.number >= first if cell.lasting else request.number == first
            return cell.fault(request, forward) if hit else forward()

        self.proxy.fault = fault
        try:
            with mock.patch.object(connection, "TIMEOUT_SECONDS", cell.timeout):
                ended = self.run(operation, alias)
        finally:
            self.proxy.fault = no_fault
            if cell.name in BLOCKS:
                self.client.indices.put_settings(index="*", body={cell.name: None})
        assert not ended.crashes, ended.crashes
        if ended.status == 0:
            told = "completed"
            if not operation.writes:
                assert told_by(ended) == told_by(expected), "an incomplete answer"
        else:
            told = "one line"
            assert len(ended.errors) == 1, ended.errors
            assert ended.errors[0].startswith("slice-os: "), ended.errors
            assert "Traceback" not in ended.errors[0]
        if operation.writes:
            if ended.status:
                assert self.run(operation, alias).status == 0, "cannot be completed"
            assert_as_if_in_one_go(self.client, alias, "expected")
            self.drop()
        elif self.deleted():
            self.restore()
        else:
            assert told_by(self.run(operation, alias)) == told_by(expected)
        return f"{told}: {_gist(ended.errors[0])}" if ended.errors else told

    def deleted(self) -> bool:
        """Whether the index that is asked was deleted."""
        return not self.client.indices.exists(index="asked")

    def restore(self) -> None:
        """Ingest again what is asked."""
        with suppress(exceptions.NotFoundError):
            self.client.indices.delete(index="asked*")
        assert self.run(self.operations[0], "asked").status == 0

    def cells(self) -> list[Cell]:
        once: dict[str, Fault] = {
            "429": refusing(429),
            "429, Retry-After": refusing(429, "1"),
            "503": refusing(503),
            "503, Retry-After": refusing(503, "1"),
            "closed": closed,
            "cut": cut,
            "cut short": shortened,
            "page of a proxy": page,
            "slow, 2 s": slow(2.0),
            "shards failed": shards_failed,
            "timed out": timed_out,
        }
        faults = [Cell(name, fault) for name, fault in once.items()]
        faults += [Cell(f"{name}, lasting", once[name], True, moments=2) for name in ("429", "503")]
        faults += [
            Cell("paused, 5 s", self.paused(5), moments=1),
            Cell("paused, 12 s, timeout 8 s", self.paused(12), moments=2),
            Cell("paused, 40 s", self.paused(40), timeout=120, moments=1),
            *(Cell(name, self.changing(self.block(name))) for name in BLOCKS),
            Cell("index deleted", self.changing(self.delete), moments=4),
        ]
        return faults

    def paused(self, seconds: float) -> Fault:
        """Pause the node when a request comes."""

        def fault(request: Request, forward: Forward) -> Reply:
            pid = self.node.pid
            os.kill(pid, signal.SIGSTOP)
            threading.Timer(seconds, os.kill, (pid, signal.SIGCONT)).start()
            return forward()

        return fault

    def changing(self, change: Callable[[str], None]) -> Fault:
        """Change the index when a request comes."""

        def fault(request: Request, forward: Forward) -> Reply:
            # Before there is an index there is nothing to change.
            with suppress(exceptions.NotFoundError):
                change("written" if self.client.indices.exists(index="written") else "asked")
            return forward()

        return fault

    def block(self, name: str) -> Callable[[str], None]:
        return lambda alias: self.client.indices.put_settings(index=alias, body={name: True})

    def delete(self, alias: str) -> None:
        self.client.indices.delete(index=concrete(self.client, alias))


def told_by(ended: Ended) -> str:
    """What a command wrote, without the size on disk, which merges change."""
    return re.sub(r'"size_bytes":\d+', "", ended.output)


def _gist(line: str) -> str:
    """What an error says, without where."""
    return line.partition(": ")[2].partition(": ")[2][:90]


def moments(count: int, most: int) -> Iterator[int]:
    """Some of the requests of a command, from the first to the last."""
    some = min(count, most)
    yield from sorted({round(number * (count - 1) / max(some - 1, 1)) for number in range(some)})


def try_all(bench: Bench, only: str, minutes: float) -> dict[str, object]:
    """Try every fault with every command, within some time; what came of it."""
    deadline = time.monotonic() + 60 * minutes
    ends: dict[str, dict[str, Counter[str]]] = {}
    bad: list[str] = []
    runs = 0
    for cell in bench.cells():
        if only not in cell.name or time.monotonic() > deadline:
            continue
        began = time.monotonic()
        for operation in bench.operations:
            counts = ends.setdefault(cell.name, {}).setdefault(operation.name, Counter())
            for moment in moments(bench.requests[operation.name], cell.moments):
                runs += 1
                with noted(counts, bad, f"{cell.name}, {operation.name}, request {moment}"):
                    counts[bench.try_at(operation, cell, moment)] += 1
        print(f"{cell.name}: {time.monotonic() - began:.0f} s", file=sys.stderr)  # noqa: T201
    return {"runs": runs, "requests": bench.requests, "ends": ends, "bad": bad}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--only", default="", help="faults whose names have this")
    parser.add_argument("--minutes", type=float, default=math.inf)
    chosen = parser.parse_args()
    make_requests_small()
    with (
        mock.patch.dict(os.environ, {VARIABLE: str(RETRY_SECONDS)}),
        tempfile.TemporaryDirectory() as folder,
        running_node() as node,
        proxying(Proxy(node.url)) as proxy,
    ):
        report = try_all(Bench(Path(folder), node, proxy), chosen.only, chosen.minutes)
    tell(report, chosen.out, failed=report["bad"])


if __name__ == "__main__":
    main()
