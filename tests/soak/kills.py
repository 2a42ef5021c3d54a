"""Kills commands that write to a local store: what is left is sound, and can be completed.

    python -m tests.soak.kills --count 210 --out benchmarks/results/soak_kills.json

Ingest, replacing, pruning, deleting, compaction and copying run in turn, each as a process of its
own that is killed at a random moment. Then the store must verify, every document must be whole, as
it was or as it is to be, and the same command must lead to the same hits as without a kill.
"""

from __future__ import annotations

import json
import math
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Protocol

from slice_os import Corpus, LocalStore, SpanEncoder
from slice_os.stores.registry import store_exists
from tests.soak.report import noted, options, tell

DEMO = Path(__file__).parents[2] / "demo" / "dialogues.jsonl"
FILES = 24
A_FILE = 3
PHRASES = ("what is the status of my order", "please change my seat", "I need a refund")
OPERATIONS = ("ingest", "replace", "prune", "delete", "compact", "copy")


class Process(Protocol):
    """A command in a process of its own."""

    def poll(self) -> int | None:
        """The exit status; None while it runs."""
        ...

    def kill(self) -> None: ...

    def wait(self) -> int:
        """Wait for its end; returns the exit status."""
        ...


class Bench:
    """Stores and folders before each operation, and the hits after it.

    Args:
        folder: empty, for all of them.
        encoder: of the stores.
        operations: to kill; by default all.
    """

    operations: tuple[str, ...] = OPERATIONS
    files = FILES

    def __init__(
        self, folder: Path, encoder: SpanEncoder, operations: tuple[str, ...] = ()
    ) -> None:
        self.folder = folder
        self.encoder = encoder
        self.operations = operations or self.operations
        with DEMO.open(encoding="utf-8") as stream:
            self.records = [json.loads(line) for line in islice(stream, self.files * A_FILE)]
        self.old = {
            one["id"]: "\n".join(turn["text"] for turn in one["text"]) for one in self.records
        }
        self.new = {key: f"{text} Thank you." for key, text in self.old.items()}
        self.seconds: dict[str, float] = {}
        self.expected: dict[str, Any] = {}
        for operation in self.operations:
            done = folder / f"{operation}-done"
            self.copy(self.prepare(operation, folder / operation), done)
            began = time.monotonic()
            assert self.run(operation, done) == 0, operation
            self.seconds[operation] = time.monotonic() - began
            self.expected[operation] = self.contents(done)

    def location(self, work: Path) -> str:
        return str(work / "s")

    def copy(self, before: Path, work: Path) -> None:
        shutil.copytree(before, work)

    def discard(self, work: Path) -> None:
        shutil.rmtree(work)

    def start(self, operation: str, work: Path) -> Process:
        return start(self.arguments(operation, work), work)

    def run(self, operation: str, work: Path) -> int:
        """The exit status of an operation."""
        return self.start(operation, work).wait()

    def prepare(self, operation: str, work: Path) -> Path:
        """A folder with sources and the store as they are before an operation."""
        (work / "sources").mkdir(parents=True)
        self.write(work, self.old)
        if operation != "ingest":
            assert self.run("ingest", work) == 0
        if operation in ("replace", "compact"):
            self.write(work, self.new)
        if operation == "compact":
            # Too little for the store to compact itself.
            with Corpus(self.location(work), self.encoder) as corpus:
                corpus.delete([record["id"] for record in self.records[:10]])
        if operation == "copy":
            (work / "s").rename(work / "from")
        if operation == "prune":
            for number in range(0, self.files, 2):
                (work / "sources" / f"{number:02}.jsonl").unlink()
        return work

    def write(self, work: Path, texts: dict[str, str]) -> None:
        for number in range(self.files):
            some = self.records[number * A_FILE : (number + 1) * A_FILE]
            lines = [json.dumps({"id": one["id"], "text": texts[one["id"]]}) for one in some]
            (work / "sources" / f"{number:02}.jsonl").write_text("\n".join(lines))

    def arguments(self, operation: str, work: Path) -> list[str]:
        store = ["--store", self.location(work)]
        if operation == "delete":
            return ["store", "delete", *list(self.old)[::2], *store]
        if operation == "compact":
            return ["store", "compact", *store]
        if operation == "copy":
            return ["store", "copy", "from", self.location(work)]
        prune = ["--prune"] if operation == "prune" else []
        return ["ingest", "sources", *store, "--source", "calls", *prune]

    def contents(self, work: Path) -> tuple[Any, ...]:
        """Documents and hits of a store."""
        with Corpus(self.location(work), self.encoder) as corpus:
            hits = [
                (hit.phrase, hit.doc_id, hit.start, hit.end, round(hit.cosine, 6), hit.bm25)
                for phrase in PHRASES
                for hit in corpus.search(phrase)
            ]
            return {key: corpus.text(key) for key in corpus}, hits

    def kill(self, operation: str, moment: float) -> str:
        """Kill the operation at a moment; what came of it."""
        work = Path(tempfile.mkdtemp(dir=self.folder)) / "work"
        self.copy(self.folder / operation, work)
        process = self.start(operation, work)
        time.sleep(moment)
        ended = process.poll() is not None
        process.kill()
        process.wait()
        try:
            self.check(work)
            if operation == "replace":
                with Corpus(self.location(work), self.encoder) as corpus:
                    assert set(corpus) == self.old.keys(), "without either version"
            self.complete(operation, work)
        finally:
            self.discard(work)
        return "had ended" if ended else "killed"

    def complete(self, operation: str, work: Path) -> None:
        """The same command leads to the same contents and hits as without a kill."""
        # Deleting says by 1 that some are gone already.
        fine = (0, 1) if operation == "delete" else (0,)
        assert self.run(operation, work) in fine, "failed afterwards"
        self.check(work)
        texts, hits = self.contents(work)
        assert texts == self.expected[operation][0], "other documents than without a kill"
        assert hits == self.expected[operation][1], "other hits than without a kill"

    def check(self, work: Path) -> None:
        """The store verifies, and every document is whole."""
        if not store_exists(self.location(work)):
            return
        store = LocalStore.open(work / "s")
        try:
            faults = store.verify()
            assert not faults, faults
            for entry in store.list_documents():
                text = store.document_text(entry.id)
                assert text in (self.old[entry.id], self.new[entry.id]), entry
        finally:
            store.close()


def start(arguments: list[str], work: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "slice_os.cli", *arguments]
    return subprocess.Popen(command, cwd=work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def kill_often(
    bench: Bench, count: int, seed: int, workers: int = 1, minutes: float = math.inf
) -> dict[str, Any]:
    """Kill the operations in turn at random moments, within some time; what came of it."""
    deadline = time.monotonic() + 60 * minutes
    moments = random.Random(seed)
    counts: dict[str, Counter[str]] = {name: Counter() for name in bench.operations}
    bad: list[str] = []

    def kill(operation: str, moment: float) -> None:
        if time.monotonic() > deadline:
            return
        with noted(counts[operation], bad, f"{operation} after {moment:.3f} s"):
            counts[operation][bench.kill(operation, moment)] += 1

    with ThreadPoolExecutor(workers) as executor:
        for _, operation in zip(range(count), cycle(bench.operations), strict=False):
            executor.submit(kill, operation, moments.uniform(0.2, bench.seconds[operation]))
    runs = sum(map(Counter.total, counts.values()))
    return {"runs": runs, "ends": counts, "seconds": bench.seconds, "bad": bad}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--count", type=int, default=210)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--only", nargs="+", choices=OPERATIONS, default=OPERATIONS)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), SpanEncoder(), tuple(chosen.only))
        report = kill_often(bench, chosen.count, chosen.seed, minutes=chosen.minutes)
    tell(report, chosen.out, failed=report["bad"])


if __name__ == "__main__":
    main()
