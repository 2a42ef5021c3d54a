"""Cuts the power while a local store is written: nothing that was acknowledged is lost.

    python -m tests.soak.power_cuts --count 600 --out benchmarks/results/soak_power_cuts.json

Ingest, replacing, pruning, deleting, compaction and a service run once each, under strace. From
what they asked of the disk, the disk is made again as it may be after a power cut at any moment;
see `disk`. Then the store must be sound, or its check must repair it; what was acknowledged must be
there; and the same command must lead to the same documents and hits as without a cut.

Needs Linux and strace.
"""

from __future__ import annotations

import math
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import httpx

from slice_os import Corpus, Document, LocalStore, SpanEncoder
from slice_os.stores.registry import store_exists
from slice_os.topics.folder import TopicsFolder
from slice_os.topics.journal import LabelJournal
from slice_os.topics.work import Work
from tests.soak.children import ERRORS, Child
from tests.soak.disk import Disk, Event, recorded
from tests.soak.kills import OPERATIONS, PHRASES, Bench
from tests.soak.report import noted, options, tell

SERVICE = "service"
COMMAND = (sys.executable, "-m", "slice_os.cli")
SAID = b"HTTP/1.1 2"
AT_THE_END = 0.2
LOST = 255


class Cuts(Bench):
    """Recordings of each operation, and what they lead to without a cut.

    Args:
        folder: empty, for all of them.
        encoder: of the stores.
        operations: those to record.
        files: of the sources.
    """

    def __init__(
        self, folder: Path, encoder: SpanEncoder, operations: tuple[str, ...], files: int
    ) -> None:
        self.operations = tuple(name for name in operations if name != SERVICE)
        self.files = files
        super().__init__(folder, encoder)
        self.recordings = {name: self.record(name) for name in self.operations}
        if SERVICE in operations:
            self.served = Requests(self.old)
            self.recordings[SERVICE] = self.record_service()

    def run(self, operation: str, work: Path) -> int:
        """The exit status of an operation; what a service is told is stored without it."""
        if operation != SERVICE:
            # Where several threads start processes, multiprocessing loses a status now and then.
            while (status := super().run(operation, work)) == LOST:
                pass
            return status
        with Corpus(self.location(work), self.encoder) as corpus:
            corpus.add(Document(key, text) for key, text in self.served.texts.items())
        return 0

    def start(self, operation: str, work: Path) -> Child:
        """Start an operation in a process that has imported everything."""
        return Child(self.arguments(operation, work), work)

    def texts(self, work: Path) -> dict[str, str]:
        """The documents of a store; none if it is not there."""
        if not store_exists(self.location(work)):
            return {}
        with Corpus(self.location(work), self.encoder) as corpus:
            return {key: corpus.text(key) for key in corpus}

    def record(self, operation: str) -> list[Event]:
        """What an operation asks of the disk."""
        work, events = self.folder / f"{operation}-recorded" / "work", list[Event]()
        self.copy(self.folder / operation, work)
        with recorded([*COMMAND, *self.arguments(operation, work)], work, events) as process:
            process.wait()
        assert process.returncode == 0, operation
        return events

    def record_service(self) -> list[Event]:
        """What a service asks of the disk that is told to store documents, labels and topics."""
        work, events = self.folder / f"{SERVICE}-recorded" / "work", list[Event]()
        (self.folder / SERVICE).mkdir()
        with Corpus(self.location(self.folder / SERVICE), self.encoder) as corpus:
            corpus.add([])
        self.copy(self.folder / SERVICE, work)
        command = [*COMMAND, "serve", self.location(work), "--work", str(work), "--port", "0"]
        with recorded(command, work, events) as process:
            assert process.stderr is not None
            address = process.stderr.readline().split(b" at ")[1].split(b"/;")[0].decode()
            self.served.send(address)
            # Its own end would write what is in the log of the database to its place.
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
            os.kill(int(children), signal.SIGKILL)
        self.run(SERVICE, work)
        self.expected[SERVICE] = self.contents(work)
        return events

    def cut(self, operation: str, moment: int, seed: int) -> str:
        """Cut the power after so many events; what came of it."""
        events = self.recordings[operation]
        chosen = random.Random(seed)
        work = Path(tempfile.mkdtemp(dir=self.folder)) / "work"
        work.mkdir()
        disk = Disk(self.folder / operation)
        for event in events[:moment]:
            disk.do(event)
        disk.cut(chosen, work)
        try:
            told = self.sound(work)
            if operation == SERVICE:
                self.served.check(sum(one.data.startswith(SAID) for one in events[:moment]), work)
            else:
                self.check_texts(operation, work, moment == len(events))
            self.complete(operation, work)
        except Exception as error:
            told = work / ERRORS
            raise AssertionError(f"{error}; {told.read_text() if told.exists() else ''}") from error
        finally:
            shutil.rmtree(work.parent)
        return told

    def sound(self, work: Path) -> str:
        """The store verifies, or is repaired."""
        if not store_exists(self.location(work)):
            return "no store"
        store = LocalStore.open(work / "s")
        try:
            if not (faults := store.verify(repair=True)):
                return "sound"
            assert store.verify() == []
            return f"repaired: {faults[0].where}: {faults[0].problem}"
        finally:
            store.close()

    def check_texts(self, operation: str, work: Path, ended: bool) -> None:
        """Each document is as before the operation or as after it, if that had ended."""
        found, after = self.texts(work), self.expected[operation][0]
        before = after if ended else self.texts(self.folder / operation)
        for key in {*found, *before, *after}:
            assert found.get(key) in (before.get(key), after.get(key)), f"{key} is lost"


class Requests:
    """Documents, labels and topics for a service, one after the other."""

    def __init__(self, texts: dict[str, str]) -> None:
        self.texts = dict(islice(texts.items(), 6))

    def all(self) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
        """Each request: of what, its name, its path and its body."""
        for number, (key, text) in enumerate(self.texts.items()):
            yield "document", key, "/documents", {"documents": [{"id": key, "text": text}]}
            words = {"topic": f"t-{number}", "doc_id": key, "text": text[:9], "label": True}
            yield "label", key, "/labels", {"labels": [words]}
            topic = {"name": f"t-{number}", "phrases": [PHRASES[0]]}
            yield "topic", f"t-{number}", "/topics", topic

    def send(self, address: str) -> None:
        for _, _, path, body in self.all():
            httpx.post(f"{address}{path}", json=body, timeout=600).raise_for_status()

    def check(self, acknowledged: int, work: Path) -> None:
        """Those that were answered are on the disk."""
        kept = Work.of(None, work)
        with Corpus(work / "s") as corpus:
            there = {"document": {key for key in corpus if corpus.text(key) == self.texts[key]}}
        topics, problems = TopicsFolder(kept.topics).read()
        there["topic"] = {one.topic.name for one in topics if one.topic.phrases}
        there["label"] = {one.label.doc_id for one in LabelJournal(kept.labels_file).read()}
        assert not problems, problems
        for kind, name, *_ in islice(self.all(), acknowledged):
            assert name in there[kind], f"{kind} {name} is lost"


def cut_often(
    bench: Cuts, count: int, seed: int, workers: int = 1, minutes: float = math.inf
) -> dict[str, Any]:
    """Cut the power of the operations in turn, at random moments and at the end."""
    deadline = time.monotonic() + 60 * minutes
    chosen = random.Random(seed)
    names = tuple(bench.recordings)
    ends: dict[str, Counter[str]] = {name: Counter() for name in names}
    bad: list[str] = []

    def cut(name: str, moment: int, own: int) -> None:
        if time.monotonic() > deadline:
            return
        with noted(ends[name], bad, f"{name} after {moment} events, seed {own}"):
            ends[name][bench.cut(name, moment, own)] += 1

    with ThreadPoolExecutor(workers) as executor:
        for number in range(count):
            name = names[number % len(names)]
            last = len(bench.recordings[name])
            at_end = chosen.random() < AT_THE_END
            moment = last if at_end else chosen.randint(0, last)
            executor.submit(cut, name, moment, seed + number)
    recordings = {
        name: {
            "events": len(events),
            "syncs": sum(one.kind == "sync" for one in events),
            "sync_seconds": round(sum(one.seconds for one in events), 3),
            "seconds_untraced": round(bench.seconds.get(name, 0), 2),
        }
        for name, events in bench.recordings.items()
    }
    cuts = sum(map(Counter.total, ends.values()))
    return {"cuts": cuts, "ends": ends, "recordings": recordings, "bad": bad}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--count", type=int, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--files", type=int, default=8, help="with three documents each")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Cuts(Path(folder), SpanEncoder(), (*OPERATIONS, SERVICE), chosen.files)
        report = cut_often(bench, chosen.count, chosen.seed, chosen.workers, chosen.minutes)
    tell(report, chosen.out, failed=report["bad"])


if __name__ == "__main__":
    main()
