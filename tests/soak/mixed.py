"""One hour of mixed load on a local store: memory, handles, threads and its size stay level.

    python -m tests.soak.mixed --minutes 60 --out benchmarks/results/soak_mixed.json

One process, which has the store open, searches, mines, scans, adds, replaces, deletes, compacts and
opens it again, and so do commands of their own between. After each step the answers must be those
of the documents that should be there. It takes a share of one core and sleeps for the rest.

Needs Linux.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from slice_os import Corpus, Document, LocalStore, SpanEncoder
from slice_os.hits.hit import Hit
from slice_os.stores.local.files import folder_size
from tests.soak.kills import DEMO, PHRASES
from tests.soak.levels import Samples, level, of_process, sampled
from tests.soak.report import options, tell

IDS = 120
MEASURED = ("rss_mb", "handles", "threads", "store_mb", "documents")
SAMPLE_SECONDS = 10


class Load:
    """A store, what must be in it, and steps that change or ask it.

    Args:
        folder: an empty folder.
        encoder: of the store.
        chosen: decides what comes next.
    """

    def __init__(self, folder: Path, encoder: SpanEncoder, chosen: random.Random) -> None:
        self.folder = folder
        self.encoder = encoder
        self.chosen = chosen
        with DEMO.open(encoding="utf-8") as stream:
            records = [json.loads(line) for line in islice(stream, IDS)]
        self.texts = {one["id"]: "\n".join(turn["text"] for turn in one["text"]) for one in records}
        self.stored: dict[str, str] = {}
        self.version = 0
        self.corpus = Corpus(folder / "s", encoder)
        self.steps = {
            self.search: 6,
            self.mine: 3,
            self.write: 8,
            self.delete: 2,
            self.compact: 1,
            self.reopen: 1,
            self.search_by_command: 1,
            self.mine_by_command: 1,
            self.scan_by_command: 1,
            self.ingest_by_command: 1,
            self.delete_by_command: 1,
            self.compact_by_command: 1,
        }
        self.write(IDS // 2)

    def step(self) -> str:
        """Do something; returns its name."""
        (act,) = self.chosen.choices(list(self.steps), list(self.steps.values()))
        act()
        assert len(self.corpus) == len(self.stored), "other documents"
        return act.__name__

    def search(self) -> None:
        hits = self.corpus.search(self.chosen.choice(PHRASES), top_k=self.chosen.randint(1, 40))
        assert hits, "no hits"
        self.check(hits)

    def mine(self) -> None:
        self.check(self.corpus.mine(PHRASES, threshold=0.5))

    def write(self, count: int = 0) -> None:
        """Add some documents, or replace them; about half of all are stored in the long run."""
        some = self.some(self.texts, count or self.chosen.randint(1, 6))
        self.corpus.add([Document(key, self.next_text(key)) for key in some])

    def delete(self) -> None:
        gone = self.some(self.stored, len(self.stored) // 5)
        assert self.corpus.delete(gone) == len(gone)
        self.forget(gone)

    def compact(self) -> None:
        store = self.corpus.store
        assert isinstance(store, LocalStore)
        store.compact()

    def reopen(self) -> None:
        self.corpus.close()
        self.corpus = Corpus(self.folder / "s", self.encoder)

    def search_by_command(self) -> None:
        self.command("search", self.chosen.choice(PHRASES), "--store", "s")

    def mine_by_command(self) -> None:
        self.command("mine", "-p", self.chosen.choice(PHRASES), "--store", "s")

    def scan_by_command(self) -> None:
        (key,) = self.some(self.texts, 1)
        (self.folder / "scanned.txt").write_text(self.texts[key], encoding="utf-8")
        self.command("scan", "scanned.txt", "-p", self.chosen.choice(PHRASES))

    def ingest_by_command(self) -> None:
        some = self.some(self.texts, 3)
        lines = [json.dumps({"id": key, "text": self.next_text(key)}) for key in some]
        (self.folder / "piped.jsonl").write_text("\n".join(lines), encoding="utf-8")
        self.command("ingest", "-", "--format", "jsonl", "--store", "s", stdin="piped.jsonl")

    def delete_by_command(self) -> None:
        gone = self.some(self.stored, 3)
        self.command("store", "delete", *gone, "--store", "s")
        self.forget(gone)

    def compact_by_command(self) -> None:
        self.command("store", "compact", "--store", "s")

    def command(self, *arguments: str, stdin: str = os.devnull) -> None:
        """Run a command; it must succeed."""
        with (self.folder / stdin).open("rb") as given:
            subprocess.run(
                [sys.executable, "-m", "slice_os.cli", *arguments],
                cwd=self.folder,
                stdin=given,
                check=True,
                capture_output=True,
            )

    def some(self, ids: Iterable[str], count: int) -> list[str]:
        """That many of the ids, if there are so many."""
        known = sorted(ids)
        return self.chosen.sample(known, min(count, len(known)))

    def next_text(self, key: str) -> str:
        """The text that a document is to have now."""
        self.version += 1
        self.stored[key] = f"{self.texts[key]}\nThis is version {self.version}."
        return self.stored[key]

    def forget(self, gone: Iterable[str]) -> None:
        """These documents are no longer there."""
        for key in gone:
            del self.stored[key]

    def check(self, hits: Iterable[Hit]) -> None:
        """Hits are spans of the documents that are stored."""
        for hit in hits:
            assert self.stored[hit.doc_id][hit.start : hit.end] == hit.text, hit

    def check_all(self) -> None:
        """The store verifies, and has the documents that it should."""
        store = self.corpus.store
        assert isinstance(store, LocalStore)
        assert store.verify() == []
        assert {key: self.corpus.text(key) for key in self.corpus} == self.stored

    def measure(self) -> dict[str, float]:
        """What must stay level."""
        return {
            **of_process(),
            "store_mb": folder_size(self.folder / "s") / 1e6,
            "documents": len(self.stored),
        }


def run(load: Load, minutes: float, duty: float) -> tuple[Counter[str], Samples]:
    """Load the store for so long; returns how often it did what, and the samples."""
    counts: Counter[str] = Counter()
    end = time.monotonic() + 60 * minutes
    with sampled(load.measure, SAMPLE_SECONDS) as samples:
        while time.monotonic() < end:
            before = cpu_seconds()
            counts[load.step()] += 1
            time.sleep((cpu_seconds() - before) * (1 / duty - 1))
    return counts, samples


def cpu_seconds() -> float:
    """CPU time of this process and of its commands."""
    return sum(os.times()[:4])


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--duty", type=float, default=0.15, help="share of a core (default: .15)")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        load = Load(Path(folder), SpanEncoder(threads=1), random.Random(chosen.seed))
        counts, samples = run(load, chosen.minutes, chosen.duty)
        load.check_all()
        load.corpus.close()
    report = {
        "minutes": chosen.minutes,
        "duty": chosen.duty,
        "steps": dict(sorted(counts.items())),
        "samples": len(samples),
        "levels": {name: level(samples, name) for name in MEASURED},
        "every_5_minutes": [
            {name: round(value, 2) for name, value in sample.items()} for sample in samples[::30]
        ],
    }
    tell(report, chosen.out)


if __name__ == "__main__":
    main()
