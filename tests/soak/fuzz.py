"""Reads random damage of files of every format: each gives documents, or says why not, soon.

    python -m tests.soak.fuzz --count 100000 --out benchmarks/results/soak_fuzz.json

Each time, bytes of a file are flipped, inserted, deleted, doubled or taken from another file; one
time in ten it is read as if it had another format. Prints what came of it, as JSON.
"""

from __future__ import annotations

import io
import logging
import random
import signal
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from types import FrameType

from slice_os import Document
from slice_os.ingest.formats import READERS, format_of
from slice_os.ingest.readers import ReadOptions, SkippedFile
from slice_os.ingest.reading import read_stream
from tests.many_formats import write_many
from tests.soak.report import options, tell

PATIENCE = 5
LONG = 1.0
RUNS = (b"\0", b"\xff", b"<", b'"', b",", b"[", b"{", b"_", b"<v ", b"\r\n", b"--", b"9")


def damaged(content: bytes, other: bytes, chosen: random.Random) -> bytes:
    """The content after a few random changes."""
    changed = bytearray(content)
    for _ in range(chosen.randint(1, 6)):
        at = chosen.randrange(len(changed) + 1)
        end = min(len(changed), at + chosen.choice((1, 4, 64, 4096)))
        kind = chosen.randrange(6)
        if kind == 0 and at < len(changed):
            changed[at] ^= 1 << chosen.randrange(8)
        elif kind == 1:
            changed[at:at] = chosen.choice(RUNS) * chosen.choice((1, 3, 500))
        elif kind == 2:
            del changed[at:end]
        elif kind == 3:
            changed[at:at] = changed[at:end]
        elif kind == 4:
            start = chosen.randrange(len(other) + 1)
            changed[at:end] = other[start : start + 256]
        else:
            changed[at:end] = chosen.randbytes(end - at)
    return bytes(changed)


def check(content: bytes, name: str, options: ReadOptions) -> str:
    """Read it; what came of it, which is something."""
    kinds = set()
    for record in read_stream("x", name, io.BytesIO(content), options):
        if not isinstance(record, Document):
            assert record.reason, "no reason"
            assert "\n" not in record.reason, "a reason of several lines"
            assert "reader failed" not in record.reason, record.reason
            assert "ends the process" not in record.reason, record.reason
            kinds.add("skipped" if isinstance(record, SkippedFile) else "bad records")
            continue
        kinds.add("documents")
        record.text.encode()
        ends = [0]
        for segment in record.segments:
            assert ends[-1] <= segment.start <= segment.end <= len(record.text), "offsets"
            ends.append(segment.end)
    assert kinds, "nothing"
    return min(kinds, key=("documents", "bad records", "skipped").index)


class TooLongError(BaseException):
    """Reading took too long; readers do not catch it as damage."""


def give_up(_number: int, _frame: FrameType | None) -> None:
    """It takes too long."""
    raise TooLongError(f"takes longer than {PATIENCE} s")


def run(count: int, first: int = 0) -> tuple[Counter[str], list[str], float]:
    """Read so many damaged files: what came of them, what is wrong, and the longest time."""
    with tempfile.TemporaryDirectory() as folder:
        write_many(Path(folder))
        paths = sorted(Path(folder).iterdir())
        files = [(format_of(path), path.read_bytes()) for path in paths]
    options = (ReadOptions(), ReadOptions(group_by="call", speaker_field="who"))
    ends: Counter[str] = Counter()
    bad: list[str] = []
    longest = 0.0
    for name, content in files:  # imports its libraries
        check(content, name or "text", options[0])
    before = signal.signal(signal.SIGALRM, give_up)
    for seed in range(first, first + count):
        moment = random.Random(seed)
        name, content = moment.choice(files)
        content = damaged(content, moment.choice(files)[1], moment)
        if name is None or moment.random() < 0.1:
            name = moment.choice(list(READERS))
        signal.alarm(PATIENCE)
        start = time.monotonic()
        try:
            ends[check(content, name, moment.choice(options))] += 1
        except (Exception, TooLongError) as error:
            bad.append(f"{name}, seed {seed}: {type(error).__name__}: {error}"[:300])
        signal.alarm(0)
        taken = time.monotonic() - start
        longest = max(longest, taken)
        ends["longer than a second"] += taken > LONG
    signal.signal(signal.SIGALRM, before)
    return ends, bad, longest


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    logging.disable()
    warnings.simplefilter("ignore")
    began = time.monotonic()
    ends, bad, longest = run(chosen.count, chosen.seed)
    report = {
        "inputs": chosen.count,
        "ends": ends,
        "longest_seconds": round(longest, 2),
        "seconds": round(time.monotonic() - began),
        "bad": bad,
    }
    tell(report, chosen.out, failed=bad)


if __name__ == "__main__":
    main()
