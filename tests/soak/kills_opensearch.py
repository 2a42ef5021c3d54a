"""Kills commands that write to an index, and the node itself: nothing that counts is lost.

    python -m tests.soak.kills_opensearch --out benchmarks/results/soak_kills_opensearch.json
    python -m tests.soak.kills_opensearch --engine elasticsearch --out benchmarks/results/…

Two processes load an index together. One of them is killed, and `slice-os` alone while it prunes
and deletes, as in `kills`. Then the node is killed and started again while both ingest and replace,
which have to go on, and while others search and mine: each of their answers is complete, or is an
error of one line.
"""

from __future__ import annotations

import math
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

from slice_os import Corpus, SpanEncoder, StoreError
from slice_os.stores.cluster.loading.loading import find_faults
from slice_os.stores.cluster.schema.records import document_key
from slice_os.stores.cluster.server.connection import IndexHandle, parse_location
from slice_os.stores.registry import store_exists
from tests.opensearch.node import Node
from tests.opensearch.support import assert_as_if_in_one_go, concrete
from tests.soak.children import Child, Workers
from tests.soak.kills import PHRASES, Bench, kill_often
from tests.soak.nodes import running_node
from tests.soak.report import noted, options, tell

THRESHOLD = 0.5
# Most of the time is waiting for the server, and for leases of what was killed to expire.
WORKERS = 4
LOADERS = 2
# What was answered just before the node is killed has certainly been acknowledged.
ACKNOWLEDGED_SECONDS = 0.3
READER_SECONDS = 1_200


class IndexBench(Bench):
    """As `Bench`, with indices of a node; one index is copied by cloning it."""

    operations = ("ingest", "replace", "prune", "delete")
    files = 4

    def __init__(self, folder: Path, encoder: SpanEncoder, node: Node) -> None:
        self.node = node
        self.client = parse_location(f"{node.url}/none").client()
        super().__init__(folder, encoder)

    def alias(self, work: Path) -> str:
        return "-".join(work.relative_to(self.folder).parts)

    def location(self, work: Path) -> str:
        return f"{self.node.url}/{self.alias(work)}"

    def copy(self, before: Path, work: Path) -> None:
        """Copy a folder, and clone its index."""
        super().copy(before, work)
        if not self.client.indices.exists(index=self.alias(before)):
            return
        index, name = concrete(self.client, self.alias(before)), self.alias(work)
        block = "index.blocks.write"
        self.client.indices.put_settings(index=index, body={block: True})
        self.client.indices.clone(
            index=index,
            target=f"{name}-000001",
            body={"settings": {block: None}, "aliases": {name: {}}},
        )

    def discard(self, work: Path) -> None:
        super().discard(work)
        self.client.indices.delete(index=f"{self.alias(work)}-0*")

    def start(self, operation: str, work: Path) -> Child | Workers:
        """Start an operation in a process of its own, or a load in two, with small requests."""
        arguments = self.arguments(operation, work)
        if operation in ("ingest", "replace"):
            return Workers(arguments, work, LOADERS)
        return Child(arguments, work)

    def contents(self, work: Path) -> tuple[Any, ...]:
        """Documents and hits of an index; BM25 also counts what was deleted, so it is left out."""
        with Corpus(self.location(work), self.encoder) as corpus:
            return {key: corpus.text(key) for key in corpus}, mined(corpus)

    def complete(self, operation: str, work: Path) -> None:
        """The same, down to every record and vector."""
        super().complete(operation, work)
        done = self.alias(self.folder / f"{operation}-done")
        assert_as_if_in_one_go(self.client, self.alias(work), done)

    def check(self, work: Path) -> None:
        """Every document that is listed is whole."""
        if not store_exists(self.location(work)):
            return
        alias = self.alias(work)
        handle = IndexHandle(self.client, concrete(self.client, alias), alias)
        lacking = [fault for fault in find_faults(handle) if fault.missing]
        assert not lacking, lacking
        with Corpus(self.location(work)) as corpus:
            for key in corpus:
                assert corpus.text(key) in (self.old[key], self.new[key]), key

    def kill_node_in(self, operation: str, moment: float) -> str:
        """Kill the node while an operation writes, and start it again; what came of it."""
        work = Path(tempfile.mkdtemp(dir=self.folder)) / "work"
        self.copy(self.folder / operation, work)
        try:
            process = self.start(operation, work)
            time.sleep(moment)
            ended = process.poll() is not None
            stored = self.recorded(work)
            time.sleep(ACKNOWLEDGED_SECONDS)
            self.restart()
            if operation == "ingest":
                assert stored <= self.recorded(work), "lost what was acknowledged"
            if process.wait():
                lines = process.errors()
                assert 0 < len(lines) <= LOADERS, lines
                assert all(line.startswith("slice-os: ") for line in lines), lines
                told = "ended with one line"
            else:
                told = "had ended" if ended else "waited and completed"
            self.check(work)
            self.complete(operation, work)
        finally:
            self.discard(work)
        return told

    def recorded(self, work: Path) -> set[str]:
        """The documents that count, refreshed or not."""
        if not self.client.indices.exists(index=self.alias(work)):
            return set()
        keys = [document_key(key) for key in self.old]
        found = self.client.mget(index=self.alias(work), body={"ids": keys})["docs"]
        return {answer["_id"] for answer in found if answer.get("found")}

    def kill_node_under(self, ask: Callable[[Corpus], Any]) -> Counter[str]:
        """Kill the node while questions are asked one after the other; what the answers were."""
        ends: Counter[str] = Counter()
        back = Event()
        location = self.location(self.folder / "prune")

        def read() -> None:
            with Corpus(location, self.encoder) as corpus:
                expected = ask(corpus)
                began.set()
                deadline = time.monotonic() + READER_SECONDS
                while not back.is_set() or not ends["complete, after"]:
                    assert time.monotonic() < deadline, "no answer after the node is back"
                    came_back = back.is_set()
                    try:
                        assert ask(corpus) == expected, "an incomplete answer"
                    except StoreError as error:
                        if "\n" in str(error):
                            raise AssertionError("an error of several lines") from error
                        ends["an error of one line"] += 1
                        time.sleep(0.1)
                    else:
                        ends["complete, after" if came_back else "complete, before"] += 1

        began = Event()
        with ThreadPoolExecutor(1) as executor:
            reading = executor.submit(read)
            try:
                assert began.wait(READER_SECONDS)
                time.sleep(random.uniform(0, 0.5))
                self.restart()
            finally:
                began.set()
                back.set()
            reading.result()
        return ends

    def restart(self) -> None:
        """Kill the node, and start it again on the same data and port."""
        self.node.kill()
        self.node.start()


def mined(corpus: Corpus) -> list[tuple[Any, ...]]:
    return [
        (hit.phrase, hit.doc_id, hit.start, hit.end, round(hit.cosine, 6))
        for hit in corpus.mine(PHRASES, threshold=THRESHOLD)
    ]


def searched(corpus: Corpus) -> list[tuple[Any, ...]]:
    return [
        (hit.doc_id, hit.start, hit.end, round(hit.cosine, 4)) for hit in corpus.search(PHRASES)
    ]


def kill_node_often(
    bench: IndexBench, count: int, seed: int, minutes: float = math.inf
) -> dict[str, Any]:
    """Kill the node under writers and readers in turn, within some time; what came of it."""
    deadline = time.monotonic() + 60 * minutes
    moments = random.Random(seed)
    counts: dict[str, Counter[str]] = {}
    bad: list[str] = []
    kills = 0
    readers: dict[str, Callable[[Corpus], Any]] = {"search": searched, "mine": mined}
    names = ["ingest", "replace", "ingest", *readers]
    for number in range(count):
        if time.monotonic() > deadline:
            break
        name = names[number % len(names)]
        ends = counts.setdefault(name, Counter())
        kills += 1
        with noted(ends, bad, name):
            if name in readers:
                ends.update(bench.kill_node_under(readers[name]))
            else:
                moment = moments.uniform(0.3, 1.0) * bench.seconds[name]
                ends[bench.kill_node_in(name, moment)] += 1
        if not bench.node.running:
            bench.node.start()
    return {"kills": kills, "ends": counts, "bad": bad}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--count", type=int, default=64, help="kills of slice-os")
    parser.add_argument("--engine", choices=["opensearch", "elasticsearch"], default="opensearch")
    parser.add_argument("--nodes", type=int, default=20, help="kills of the node")
    parser.add_argument("--minutes", type=float, default=math.inf, help="for each of the two")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running_node(engine=chosen.engine) as node:
        bench = IndexBench(Path(folder), SpanEncoder(), node)
        commands = kill_often(bench, chosen.count, chosen.seed, WORKERS, chosen.minutes)
        nodes = kill_node_often(bench, chosen.nodes, chosen.seed, chosen.minutes)
    report = {"commands": commands, "node": nodes}
    tell(report, chosen.out, failed=commands["bad"] or nodes["bad"])


if __name__ == "__main__":
    main()
