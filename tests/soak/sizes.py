"""Time and memory of what is large, at some sizes each: both are to grow with the size alone.

    python -m tests.soak.sizes --out benchmarks/results/soak_sizes.json
    python -m tests.soak.sizes --scale 0.1 --only conversation
    python -m tests.soak.sizes --out benchmarks/results/soak_sizes.json --picture sizes.svg

Ingests many tiny documents, one long document and one long conversation, and mines for a long list
of phrases, each with one thread in a process of its own. Seconds are of the processor, so that
other work on the machine counts little; megabytes are the most that the process had.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from slice_os.topics.topic import MOST_TEXTS
from tests.soak.report import options, saved, tell

SUBJECTS = ("the customer", "either party", "the agent", "a buyer", "nobody", "the other side")
ACTS = ("ends the contract", "pays the fee", "asks for a refund", "changes the seat", "is late")
SHARES = (0.25, 0.5, 1.0)
# The largest of each, in its unit.
LARGEST = {
    "tiny documents": 200_000,
    "a document, kB": 50_000,
    "turns of a conversation": 100_000,
    "phrases": 10_000,
}
MINED = 2_000


def sentences() -> Iterator[str]:
    """Sentences of which no two are the same."""
    number = 0
    while True:
        subject, act = SUBJECTS[number % 6], ACTS[number % 5]
        yield f"On day {number} {subject} {act}."
        number += 1


def write(kind: str, size: int, folder: Path) -> list[str]:
    """Write what is to be read; the arguments of the command that reads it."""
    words, lines = sentences(), folder / "lines.jsonl"
    store = ["--store", str(folder / "store"), "--threads", "1"]
    if kind == "tiny documents":
        with lines.open("w", encoding="utf-8") as stream:
            for number, text in enumerate(islice(words, size)):
                stream.write(json.dumps({"id": str(number), "text": text}) + "\n")
        return ["ingest", str(lines), *store]
    if kind == "turns of a conversation":
        turns = [
            {"speaker": ("Agent", "Customer")[number % 2], "text": text}
            for number, text in enumerate(islice(words, size))
        ]
        lines.write_text(json.dumps({"id": "long", "text": turns}) + "\n", "utf-8")
        return ["ingest", str(lines), *store]
    if kind == "a document, kB":
        document, length = folder / "document.txt", 0
        with document.open("w", encoding="utf-8") as stream:
            while length < 1_000 * size:
                length += stream.write(next(words) + " ")
        return ["ingest", str(document), *store]
    topics = folder / "topics"
    topics.mkdir()
    for first in range(0, size, MOST_TEXTS):
        texts = list(islice(words, min(MOST_TEXTS, size - first)))
        text = f"phrases = {json.dumps(texts)}\nthreshold = 0.9\n"
        (topics / f"list-{first}.toml").write_text(text, "utf-8")
    run(write("tiny documents", MINED, folder))
    return ["mine", "--topics", str(topics), *store[:2], "--no-verify"]


def run(arguments: list[str]) -> tuple[float, int]:
    """The seconds of the processor, and the most megabytes, of a command."""
    command = [sys.executable, "-m", "slice_os.cli", *arguments]
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert process.stderr is not None
    said = process.stderr.read().decode()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, said
    return round(used.ru_utime + used.ru_stime, 1), used.ru_maxrss >> 10


def picture(report: dict[str, list[dict[str, float]]], path: Path) -> None:
    """Time and memory by size, both as shares of the largest size."""
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(7.2, 3.0), layout="constrained")
    for name, unit, axes in zip(("seconds", "megabytes"), ("s", "MB"), panels, strict=True):
        for kind, rows in report.items():
            largest = rows[-1]["size"]
            shares = [row["size"] / largest for row in rows]
            label = f"{kind}, 1 = {largest:,}"
            axes.plot(shares, [row[name] for row in rows], marker="o", label=label, linewidth=1)
        axes.set(xlabel="share of the largest", ylabel=f"{name}, {unit}", xlim=0, ylim=0)
        axes.grid(alpha=0.3)
    panels[0].legend(fontsize="x-small")
    figure.savefig(path, metadata={"Date": None, "Title": "Time and memory of what is large"})


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="of all sizes")
    parser.add_argument("--shares", type=float, nargs="*", default=SHARES, help="of the largest")
    parser.add_argument("--only", nargs="*", help="words of the names of what is measured")
    parser.add_argument("--picture", type=Path, help="only draw what was saved")
    chosen = parser.parse_args()
    report = saved(chosen.out)
    if chosen.picture:
        picture(report, chosen.picture)
        return
    for kind, largest in LARGEST.items():
        if chosen.only and not any(word in kind for word in chosen.only):
            continue
        report[kind] = []
        for share in chosen.shares:
            size = max(1, round(chosen.scale * share * largest))
            with tempfile.TemporaryDirectory() as folder:
                seconds, megabytes = run(write(kind, size, Path(folder)))
            report[kind].append({"size": size, "seconds": seconds, "megabytes": megabytes})
            tell(report, chosen.out)


if __name__ == "__main__":
    main()
