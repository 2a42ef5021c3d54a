"""Fills the disk of a local store: every command ends with one line, and can be completed later.

    python -m tests.soak.full_disk --sizes 16 --out benchmarks/results/soak_full_disk.json

The store is on a disk of its own, in memory, with room for less than the command needs. Ingest,
replacing, deleting and compaction run on disks of many sizes. A command that does not end well must
say in one line which store it was, that the disk is full, and what to do. A search on the full disk
answers, or says the same. Then the disk gets room: the store must verify, every document must be
whole, and the same command must lead to the same hits as on a large disk.

Needs Linux, and the right to mount.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from slice_os import SpanEncoder
from tests.soak.kills import PHRASES, Bench, start
from tests.soak.report import tell

OPERATIONS = ("ingest", "replace", "delete", "compact")
ROOM = 1 << 30
PAGE = 4096
FAILED = "slice-os: s: the disk is full; make room, then try again\n"


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


class FullDisk:
    """Runs operations on disks of all sizes between what is stored and what is needed.

    Args:
        bench: what is stored before an operation, and what is found after it.
        place: an empty folder.
    """

    def __init__(self, bench: Bench, place: Path) -> None:
        self.bench = bench
        self.place = place

    @contextmanager
    def prepared(self, operation: str) -> Iterator[Path]:
        """A folder before the operation, whose store is on a disk of its own."""
        work = self.place / "work"
        shutil.copytree(self.bench.folder / operation, work, ignore=shutil.ignore_patterns("s"))
        try:
            with disk(work / "s"):
                if operation != "ingest":
                    shutil.copytree(
                        self.bench.folder / operation / "s", work / "s", dirs_exist_ok=True
                    )
                yield work
        finally:
            shutil.rmtree(work)

    def need(self, operation: str) -> tuple[int, int]:
        """Bytes used before the operation, and the most used while it ran."""
        with self.prepared(operation) as work:
            most = before = used(work / "s")
            process = start(self.bench.arguments(operation), work)
            while process.poll() is None:
                most = max(most, used(work / "s"))
            assert process.returncode == 0
        return before, most

    def run(self, operation: str, size: int) -> str:
        """Run the operation on a disk of that size; what came of it."""
        with self.prepared(operation) as work:
            resize(work / "s", size)
            status, said = said_by(self.bench.arguments(operation), work)
            if status == 0:
                end = "completed"
            else:
                end = "said so"
                assert (status, said) == (1, FAILED), f"status {status}: {said}"
            read, said = said_by(["search", PHRASES[0], "--store", "s"], work)
            assert read == 0 or said == FAILED, f"search: status {read}: {said}"
            resize(work / "s", ROOM)
            self.bench.complete(operation, work)
        return end if read == 0 else f"{end}, search, too"


def said_by(arguments: list[str], work: Path) -> tuple[int, str]:
    """Exit status and standard error of a command."""
    process = start(arguments, work, subprocess.PIPE)
    _, said = process.communicate()
    return process.returncode, said.decode()


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, default=16)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            with disk(Path(folder, "tried")):
                pass
        except (OSError, subprocess.CalledProcessError):
            raise SystemExit("skipped: full disks need Linux and the right to mount") from None
        place = Path(folder, "bench")
        place.mkdir()
        full = FullDisk(Bench(place, SpanEncoder(), OPERATIONS), Path(folder))
        report: dict[str, object] = {}
        bad: list[str] = []
        for operation in OPERATIONS:
            before, most = full.need(operation)
            ends: Counter[str] = Counter()
            for number in range(chosen.sizes):
                free = (most - before) * number // (chosen.sizes - 1)
                size = max(PAGE, (before + free) // PAGE * PAGE)
                try:
                    ends[full.run(operation, size)] += 1
                except Exception as error:
                    ends["bad"] += 1
                    bad.append(f"{operation} with {size} bytes: {error!r}")
            report[operation] = {"bytes_before": before, "bytes_most": most, "ends": ends}
    tell({**report, "bad": bad}, chosen.out)
    if bad:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
