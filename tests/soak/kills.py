"""Kills commands that write to a local store: what is left is sound, and can be completed.

    python -m tests.soak.kills --count 210 --out benchmarks/results/soak_kills.json

Ingest, replacing, pruning, deleting and compaction run in turn, each as a process of its own that
is killed at a random moment. Then the store must verify, every document must be whole, as it was or
as it is to be, and the same command must lead to the same hits as without a kill.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from slice_os import Corpus, LocalStore, SpanEncoder
from slice_os.stores.registry import store_exists
from tests.soak.report import tell

DEMO = Path(__file__).parents[2] / "demo" / "dialogues.jsonl"
FILES = 24
A_FILE = 3
PHRASES = ("what is the status of my order", "please change my seat", "I need a refund")
OPERATIONS = ("ingest", "replace", "prune", "delete", "compact")


class Bench:
    """Stores and folders before each operation, and the hits after it.

    Args:
        folder: empty, for all of them.
        encoder: of the stores.
        operations: those that are needed.
    """

    def __init__(
        self, folder: Path, encoder: SpanEncoder, operations: Sequence[str] = OPERATIONS
    ) -> None:
        self.folder = folder
        self.encoder = encoder
        with DEMO.open(encoding="utf-8") as stream:
            self.records = [json.loads(line) for line in islice(stream, FILES * A_FILE)]
        self.old = {
            one["id"]: "\n".join(turn["text"] for turn in one["text"]) for one in self.records
        }
        self.new = {key: f"{text} Thank you." for key, text in self.old.items()}
        self.seconds: dict[str, float] = {}
        self.expected: dict[str, Any] = {}
        for operation in operations:
            work = self.prepare(operation, folder / operation)
            shutil.copytree(work, folder / f"{operation}-done")
            began = time.monotonic()
            done = start(self.arguments(operation), folder / f"{operation}-done")
            assert done.wait() == 0, operation
            self.seconds[operation] = time.monotonic() - began
            self.expected[operation] = self.contents(folder / f"{operation}-done")

    def prepare(self, operation: str, work: Path) -> Path:
        """A folder with sources and the store as they are before an operation."""
        (work / "sources").mkdir(parents=True)
        self.write(work, self.old)
        if operation != "ingest":
            assert start(self.arguments("ingest"), work).wait() == 0
        if operation in ("replace", "compact"):
            self.write(work, self.new)
        if operation == "compact":
            # Too little for the store to compact itself.
            with Corpus(work / "s", self.encoder) as corpus:
                corpus.delete([record["id"] for record in self.records[:10]])
        if operation == "prune":
            for number in range(0, FILES, 2):
                (work / "sources" / f"{number:02}.jsonl").unlink()
        return work

    def write(self, work: Path, texts: dict[str, str]) -> None:
        """Write the sources."""
        for number in range(FILES):
            some = self.records[number * A_FILE : (number + 1) * A_FILE]
            lines = [json.dumps({"id": one["id"], "text": texts[one["id"]]}) for one in some]
            (work / "sources" / f"{number:02}.jsonl").write_text("\n".join(lines))

    def arguments(self, operation: str) -> list[str]:
        """What the command line is given."""
        if operation == "delete":
            return ["delete", *list(self.old)[::2], "--store", "s"]
        if operation == "compact":
            return ["compact", "--store", "s"]
        prune = ["--prune"] if operation == "prune" else []
        return ["ingest", "sources", "--store", "s", "--source", "calls", *prune]

    def contents(self, work: Path) -> tuple[Any, ...]:
        """Documents and hits of a store."""
        with Corpus(work / "s", self.encoder) as corpus:
            hits = [
                (hit.phrase, hit.doc_id, hit.start, hit.end, round(hit.cosine, 6), hit.bm25)
                for phrase in PHRASES
                for hit in corpus.search(phrase)
            ]
            return {key: corpus.text(key) for key in corpus}, hits

    def kill(self, operation: str, moment: float) -> str:
        """Kill the operation at a moment; what came of it."""
        work = Path(tempfile.mkdtemp(dir=self.folder)) / "work"
        shutil.copytree(self.folder / operation, work)
        process = start(self.arguments(operation), work)
        time.sleep(moment)
        ended = process.poll() is not None
        process.kill()
        process.wait()
        try:
            self.complete(operation, work)
        finally:
            shutil.rmtree(work.parent)
        return "had ended" if ended else "killed"

    def complete(self, operation: str, work: Path) -> None:
        """An operation that did not end left a sound store, and can be completed."""
        self.check(work)
        # Deleting says by 1 that some are gone already.
        fine = (0, 1) if operation == "delete" else (0,)
        assert start(self.arguments(operation), work).wait() in fine, "failed afterwards"
        self.check(work)
        texts, hits = self.contents(work)
        assert texts == self.expected[operation][0], "other documents than undisturbed"
        assert hits == self.expected[operation][1], "other hits than undisturbed"

    def check(self, work: Path) -> None:
        """The store verifies, and every document is whole."""
        if not store_exists(work / "s"):
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


def start(
    arguments: list[str], work: Path, stderr: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """The command in a process of its own."""
    command = [sys.executable, "-m", "slice_os.cli", *arguments]
    return subprocess.Popen(command, cwd=work, stdout=subprocess.DEVNULL, stderr=stderr)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=210)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    moments = random.Random(chosen.seed)
    counts: dict[str, Counter[str]] = {name: Counter() for name in OPERATIONS}
    bad: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), SpanEncoder())
        for number in range(chosen.count):
            operation = OPERATIONS[number % len(OPERATIONS)]
            moment = moments.uniform(0.2, bench.seconds[operation])
            try:
                counts[operation][bench.kill(operation, moment)] += 1
            except Exception as error:
                counts[operation]["bad"] += 1
                bad.append(f"{operation} after {moment:.3f} s: {error!r}")
    report = {"runs": chosen.count, "ends": counts, "seconds": bench.seconds, "bad": bad}
    tell(report, chosen.out)
    if bad:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
