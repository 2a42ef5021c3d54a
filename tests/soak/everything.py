"""An hour of everything on a service: what it acknowledged is there, and its memory stays level.

    python -m tests.soak.everything --on local --out benchmarks/results/soak_everything.json
    python -m tests.soak.everything --on opensearch --out benchmarks/results/soak_everything.json
    python -m tests.soak.everything --picture docs/notebook/everything.svg \
        --out benchmarks/results/soak_everything.json

Clients search, mine, label, change topics, write and delete, and some go away before the answer.
First as many as are answered at most are counted, then half of that is offered, and then three
times of it, whether or not there are answers. In the first fifth of that the service is stopped
and killed, and so is the node; at the end, the service is killed once more. Then everything that
was acknowledged must be there, and mining must find what it finds in a new store of the same
documents.

Needs Linux.
"""

from __future__ import annotations

import asyncio
import os
import random
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from slice_os import Corpus, Document, LocalStore, SpanEncoder
from tests.opensearch.node import Node
from tests.service.conftest import Server, served
from tests.soak.clients import THRESHOLD, Clients
from tests.soak.kills import PHRASES
from tests.soak.levels import Samples, level, of_process
from tests.soak.nodes import running_node
from tests.soak.report import options, saved, tell

DOCUMENTS = 800
CLIENTS = 8
CALM, OVERLOAD = 0.5, 3.0
# When the service is stopped or killed, as shares of the overload; memory counts after them.
RESTARTS = (0.04, 0.08, 0.12, 0.16)
NODE_RESTART = 0.2
MEASURED = ("rss_mb", "own_mb", "handles", "threads")
LIMIT = 5.0
CORES = sorted(os.sched_getaffinity(0))
# With several cores, the first one is for the clients alone.
CLIENTS_CORES, SERVICE_CORES = CORES[:1], CORES[1:] or CORES
OTHERS = ("late", "mine", "mine_topics", "write", "label", "show")


@contextmanager
def on(cores: Iterable[int]) -> Iterator[None]:
    """Let this thread, and threads and processes that it starts, run on some cores alone."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def restarted(node: Node) -> None:
    """Kill a node, and start it again."""
    node.kill()
    with on(SERVICE_CORES):
        node.start()


class Served:
    """A service that can be stopped, killed and started again.

    Attributes:
        turns: how often it was ended, or was there again; odd while it is there.
        complaints: what it wrote but lines about requests.
    """

    def __init__(self, location: str, work: Path) -> None:
        self._arguments = location, "--work", str(work)
        self._stack = ExitStack()
        self._server: Server | None = None
        self.complaints: list[str] = []
        self.turns = 0
        self.start()

    @property
    def address(self) -> str:
        """Where it listens, or did."""
        assert self._server is not None
        return self._server.address

    def start(self) -> None:
        """Start it, and wait until it has searched."""
        with on(SERVICE_CORES):
            self._server = self._stack.enter_context(served(*self._arguments))
        # Its many threads would leave the clients no time on the same cores.
        os.setpriority(os.PRIO_PROCESS, self._server.process.pid, min(19, os.nice(0) + 5))
        httpx.post(f"{self.address}/search", json={"phrases": "warm up"}, timeout=600)
        self.turns += 1

    def end(self, kill: bool) -> None:
        """Stop it in order, or kill it."""
        self.turns += 1
        assert self._server is not None
        if kill:
            self._server.process.kill()
        self._stack.close()
        self.complaints += [line for line in self._server.log if not line.startswith("{")]

    def restart(self, kill: bool) -> None:
        """End it, and start it again."""
        self.end(kill)
        self.start()

    def measure(self) -> dict[str, float]:
        """What must stay level."""
        assert self._server is not None
        return of_process(self._server.process.pid)


class Hour:
    """Everything that happens to one service."""

    def __init__(self, service: Served, node: Node | None, clients: Clients) -> None:
        self.service = service
        self.node = node
        self.clients = clients
        self.samples: Samples = []

    async def run(self, minutes: float) -> dict[str, Any]:
        clients = self.clients
        await clients.begin()
        await clients.hurry(CLIENTS, 1.5 * minutes)  # warms up
        capacity = await clients.hurry(CLIENTS, 1.5 * minutes)
        calm = await self.offered(CALM * capacity, 5 * minutes)
        sampling = asyncio.create_task(self.sample(minutes))
        restarts = asyncio.create_task(self.restart(60 * minutes))
        overload = await self.offered(OVERLOAD * capacity, 60 * minutes)
        await restarts
        sampling.cancel()
        last = asyncio.create_task(clients.offer(capacity, minutes))
        await asyncio.sleep(minutes / 2)
        await asyncio.to_thread(self.service.restart, True)
        await last
        with noted(clients):
            await clients.check_all()
        return {
            "capacity_a_second": round(capacity, 2),
            "calm": calm,
            "overload": overload,
            "p99_ratio": round(overload["p99"] / calm["p99"], 2),
            "restarts": len(RESTARTS) + 1 + bool(self.node),
            "answers": dict(sorted(clients.answers.items())),
            "held": clients.held(),
            "levels": {name: level(self.samples, name) for name in MEASURED},
            "megabytes": [
                [round(60 * one["hours"], 2), round(one["rss_mb"], 1)] for one in self.samples
            ],
        }

    async def offered(self, rate: float, lasting: float) -> dict[str, Any]:
        """How searches, and some others, are answered at a rate."""
        self.clients.seconds.clear()
        before = self.clients.done(), self.clients.answers.total()
        await self.clients.offer(rate, lasting)
        after = self.clients.done(), self.clients.answers.total()
        seconds = self.clients.seconds
        p50, p95, p99 = np.percentile(seconds["search"], [50, 95, 99])
        return {
            "offered_a_second": round(rate, 2),
            "seconds": round(lasting, 1),
            "steps": after[1] - before[1],
            "done": after[0] - before[0],
            "searches": len(seconds["search"]),
            "p50": round(p50, 3),
            "p95": round(p95, 3),
            "p99": round(p99, 3),
            "most": round(max(seconds["search"]), 3),
            "others_p50_p99": {
                name: [round(one, 3) for one in np.percentile(seconds[name], [50, 99])]
                for name in OTHERS
                if seconds[name]
            },
        }

    async def sample(self, minutes: float) -> None:
        """Measure the service every ten seconds of an hour."""
        began = time.monotonic()
        while True:
            await asyncio.sleep(minutes / 6)
            hours = (time.monotonic() - began) / 3600
            if self.service.turns % 2 and (found := self.service.measure())["rss_mb"]:
                self.samples.append({"hours": hours, **found})

    async def restart(self, seconds: float) -> None:
        """Stop and kill the service in turn, and once the node."""
        began = time.monotonic()
        for number, share in enumerate(RESTARTS):
            await asyncio.sleep(began + share * seconds - time.monotonic())
            await asyncio.to_thread(self.service.restart, bool(number % 2))
        if self.node is not None:
            await asyncio.sleep(began + NODE_RESTART * seconds - time.monotonic())
            await asyncio.to_thread(restarted, self.node)


async def hour(
    location: str, work: Path, minutes: float, seed: int, node: Node | None = None
) -> dict[str, Any]:
    """Everything, on a store or index that is there and empty."""
    service = Served(location, work)
    clients = Clients(service, DOCUMENTS, random.Random(seed))
    try:
        report = await Hour(service, node, clients).run(minutes)
    except BaseException:
        service.end(kill=True)
        raise
    service.end(kill=False)
    await clients.close()
    with noted(clients), Corpus(location) as corpus, Corpus(work / "again") as again:
        if isinstance(corpus.store, LocalStore):
            assert corpus.store.verify() == [], "the store is not sound"
        again.add(Document(key, corpus.text(key)) for key in corpus)
        found = [
            {(hit.doc_id, hit.start, hit.end) for hit in one.mine(PHRASES, threshold=THRESHOLD)}
            for one in (corpus, again)
        ]
        assert found[0] == found[1], f"other hits than in a new store: {found[0] ^ found[1]}"
        report["hits_as_in_a_new_store"] = len(found[0])
    return {**report, "complaints": service.complaints[-50:], "bad": clients.bad}


@contextmanager
def noted(clients: Clients) -> Iterator[None]:
    """What must not be in the block is noted with the rest."""
    try:
        yield
    except AssertionError as error:
        clients.complain(str(error))


@contextmanager
def place(where: str) -> Iterator[tuple[str, Path, Node | None]]:
    """An empty store in a folder, or an index of a node."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        with on(SERVICE_CORES):
            node = None if where == "local" else stack.enter_context(running_node())
        location = str(Path(folder, "store")) if node is None else f"{node.url}/everything"
        with Corpus(location, SpanEncoder()) as corpus:
            corpus.add([])
        yield location, Path(folder), node


def picture(report: dict[str, Any], path: Path) -> None:
    """Memory over time."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 3.2), layout="constrained")
    for name, one in report.items():
        axes.plot(*zip(*one["megabytes"], strict=True), label=f"service on {name}", linewidth=1)
    axes.set(xlabel="minutes of three times what it can take", ylabel="memory, MB", ylim=(0, None))
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, metadata={"Date": None, "Title": "Memory of the service under overload"})


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--on", choices=("local", "opensearch"))
    parser.add_argument("--minutes", type=float, default=60, help="of overload")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--picture", type=Path, help="of what was saved")
    chosen = parser.parse_args()
    report = saved(chosen.out)
    if chosen.picture:
        picture(report, chosen.picture)
    if not chosen.on:
        return
    with on(CLIENTS_CORES), place(chosen.on) as (location, work, node):
        found = asyncio.run(hour(location, work, chosen.minutes, chosen.seed, node))
    report[chosen.on] = {"minutes": chosen.minutes, "cores": len(CORES), **found}
    tell(report, chosen.out, failed=found["bad"] or found["p99_ratio"] > LIMIT)


if __name__ == "__main__":
    main()
