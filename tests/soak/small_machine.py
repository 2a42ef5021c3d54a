"""A service and an ingest beside it on one core with little memory: neither may die without a word.

    python -m tests.soak.small_machine --out benchmarks/results/soak_small_machine.json

Both run in a group that the kernel gives one core and so many megabytes; somebody searches all the
time. Needs Linux, and the right to make a memory group: root, or a folder of them as `--groups`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx

from slice_os import Corpus
from tests.service.conftest import served
from tests.soak.hostile import megabytes
from tests.soak.kills import DEMO
from tests.soak.report import options, saved, tell

GROUPS = Path("/sys/fs/cgroup")
SEARCH = {"phrases": "please change my seat"}


class Group:
    """A group of processes with a bound of memory, in either version of the kernel's groups."""

    def __init__(self, folder: Path, limit: int) -> None:
        first = (folder / "memory").is_dir()
        self._folder = (folder / "memory" if first else folder) / f"small-machine-{os.getpid()}"
        self._folder.mkdir()
        self._events = self._folder / ("memory.oom_control" if first else "memory.events")
        bound = "memory.limit_in_bytes" if first else "memory.max"
        (self._folder / bound).write_text(str(limit << 20))

    def enter(self) -> None:
        """Put this process into it; what it starts is in it, too."""
        (self._folder / "cgroup.procs").write_text(str(os.getpid()))

    def leave(self) -> None:
        """Put this process where it was; what it started stays."""
        (self._folder.parent / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self) -> None:
        """Put it away; nothing runs in it."""
        self._folder.rmdir()

    def killed(self) -> int:
        """How many processes the kernel has killed for memory."""
        found = re.search(r"^oom_kill (\d+)", self._events.read_text(), re.MULTILINE)
        return int(found[1]) if found else 0


def beside(group: Group, place: Path, dialogues: int) -> dict[str, Any]:
    """Ingest into a store while its service is asked."""
    store, more, took = place / "store", place / "more.jsonl", []
    searches: Counter[str] = Counter()
    lines = DEMO.read_text("utf-8").splitlines(keepends=True)
    (place / "first.jsonl").write_text("".join(lines[:20]), "utf-8")
    more.write_text("".join(lines[20:dialogues]), "utf-8")
    with Corpus(store) as corpus:
        corpus.ingest([place / "first.jsonl"])
    group.enter()
    with served(str(store), "--work", str(place)) as server:
        command = [sys.executable, "-m", "slice_os.cli", "ingest", "--store", str(store)]
        ingest = subprocess.Popen([*command, str(more)], stderr=subprocess.PIPE, text=True)
        group.leave()
        most = 0
        while ingest.poll() is None:
            began = time.monotonic()
            try:
                answer = httpx.post(f"{server.address}/search", json=SEARCH, timeout=120)
                searches[str(answer.status_code)] += 1
            except httpx.HTTPError as error:
                searches[type(error).__name__] += 1
            took.append(time.monotonic() - began)
            if server.process.poll() is None:
                most = max(most, megabytes(server))
            time.sleep(0.2)
        assert ingest.stderr is not None
        found = {
            "ingest_status": ingest.returncode,
            "ingest_said": ingest.stderr.read().strip().splitlines()[-3:],
            "service_status": server.process.poll(),
            "searches": searches,
            "longest_search_seconds": round(max(took), 2),
            "service_megabytes": most,
            "killed_for_memory": group.killed(),
        }
    group.remove()
    with Corpus(store) as corpus:
        return {**found, "documents": len(corpus), "faults": list(corpus.store.verify())}


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[1024, 768, 512])
    parser.add_argument("--dialogues", type=int, default=1_772, help="of the demo, to ingest")
    parser.add_argument("--groups", type=Path, default=GROUPS)
    chosen = parser.parse_args()
    report = saved(chosen.out)
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for limit in chosen.megabytes:
        with tempfile.TemporaryDirectory() as place:
            group = Group(chosen.groups, limit)
            report[str(limit)] = beside(group, Path(place), chosen.dialogues)
        tell(report, chosen.out)


if __name__ == "__main__":
    main()
