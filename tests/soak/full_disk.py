"""Fills the disk of a local store: every command ends with one line, and can be completed later.

    python -m tests.soak.full_disk --sizes 12 --out benchmarks/results/soak_full_disk.json

The store is on a disk of its own, in memory, with room for less than the command needs. Ingest,
replacing, deleting and compaction run on disks of many sizes. A command that does not end well must
say in one line which store it was, that the disk is full, and what to do. A search on the full disk
answers, or says the same. Then the disk gets room: the store must verify, every document must be
whole, and the same command must lead to the same hits as on a large disk.

Needs Linux, and the right to mount.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slice_os import SpanEncoder
from tests.soak.children import Child
from tests.soak.kills import PHRASES, Bench
from tests.soak.report import noted, options, tell

OPERATIONS = ("ingest", "replace", "delete", "compact")
ROOM = 1 << 30
PAGE = 4096
NONE = "no store here; make one with `slice-os ingest`"


@contextmanager
def disk(place: Path) -> Iterator[None]:
    """A disk in memory, mounted at an empty folder."""
    place.mkdir(exist_ok=True)
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={ROOM},mode=700", "tmpfs", place],
        check=True,
        capture_output=True,
    )
    try:
        yield
    finally:
        # It goes when the last process has closed its files.
        subprocess.run(["umount", "--lazy", place], check=True)


def resize(place: Path, size: int) -> None:
    """Give the disk another size, in bytes."""
    subprocess.run(["mount", "-o", f"remount,size={size}", place], check=True)


def used(place: Path) -> int:
    """Bytes used of the disk."""
    stat = os.statvfs(place)
    return (stat.f_blocks - stat.f_bfree) * stat.f_frsize


class DiskBench(Bench):
    """As `Bench`, with stores on disks of all sizes between what is stored and what is needed."""

    operations = OPERATIONS
    files = 16

    def start(self, operation: str, work: Path) -> Child:
        """Start an operation in a process of its own."""
        return Child(self.arguments(operation, work), work)

    @contextmanager
    def on_disk(self, operation: str) -> Iterator[Path]:
        """A folder before the operation, whose store is on a disk of its own."""
        before, work = self.folder / operation, self.folder / "work"
        shutil.copytree(before, work, ignore=shutil.ignore_patterns("s"))
        try:
            with disk(work / "s"):
                if operation != "ingest":
                    shutil.copytree(before / "s", work / "s", dirs_exist_ok=True)
                yield work
        finally:
            shutil.rmtree(work)

    def need(self, operation: str) -> tuple[int, int]:
        """Bytes used before the operation, and the most used while it ran."""
        with self.on_disk(operation) as work:
            most = before = used(work / "s")
            process = self.start(operation, work)
            while process.poll() is None:
                most = max(most, used(work / "s"))
                time.sleep(0.001)
            assert process.poll() == 0, process.errors()
        return before, most

    def fill(self, operation: str, size: int) -> str:
        """Run the operation on a disk of that size; what came of it."""
        with self.on_disk(operation) as work:
            full = [f"slice-os: {self.location(work)}: the disk is full; make room, then try again"]
            resize(work / "s", size)
            writing = self.start(operation, work)
            end = "completed" if writing.wait() == 0 else "told"
            if end == "told":
                assert (writing.wait(), writing.errors()) == (1, full), writing.errors()
            reading = Child(["search", PHRASES[0], "--store", self.location(work)], work)
            if reading.wait() != 0:
                lines = [full, [f"slice-os: {self.location(work)}: {NONE}"]]
                unread = lines if operation == "ingest" else lines[:1]
                assert (reading.wait(), reading.errors() in unread) == (1, True), reading.errors()
                end += ", by a search, too"
            resize(work / "s", ROOM)
            self.check(work)
            self.complete(operation, work)
        return end


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--sizes", type=int, default=12)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            with disk(Path(folder, "tried")):
                pass
        except (OSError, subprocess.CalledProcessError):
            raise SystemExit("skipped: full disks need Linux and the right to mount") from None
        bench = DiskBench(Path(folder), SpanEncoder(threads=1))
        report: dict[str, object] = {}
        bad: list[str] = []
        for operation in OPERATIONS:
            before, most = bench.need(operation)
            ends: Counter[str] = Counter()
            for number in range(chosen.sizes):
                free = (most - before) * number // (chosen.sizes - 2)
                size = max(PAGE, (before + free) // PAGE * PAGE)
                with noted(ends, bad, f"{operation} with {size} bytes"):
                    ends[bench.fill(operation, size)] += 1
                print(operation, size, ends, file=sys.stderr, flush=True)  # noqa: T201
            report[operation] = {"bytes_before": before, "bytes_most": most, "ends": ends}
    tell({**report, "bad": bad}, chosen.out, failed=bad)


if __name__ == "__main__":
    main()
