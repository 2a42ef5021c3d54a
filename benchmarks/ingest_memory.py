"""Resident memory while 20 MB of text are ingested, at every tenth of the way.

    python benchmarks/ingest_memory.py --data ../shared/data [--megabytes 20] [--one-file]

Contracts (CUAD, JSON Lines) and books (Project Gutenberg, text files) are repeated until there is
enough. With --one-file all of it is a single text file, the worst case: a document is aligned
and cut as a whole. The ingest runs in a process of its own, and its resident memory (VmRSS) is
read from /proc every 50 ms; its highest value in each tenth of the text is printed, and the
ratio of the last tenth to the first. The first tenth has the models and caches to load, so a
level run has a ratio near 1.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path

TENTHS = 10


def texts(data: Path) -> Iterator[str]:
    """Contracts and books, again and again."""
    with gzip.open(data / "cuad" / "cuad_spans.half.jsonl.gz", "rt", encoding="utf-8") as stream:
        contracts = [json.loads(line)["text"] for line in stream]
    books = [
        gzip.decompress(path.read_bytes()).decode("utf-8")
        for path in sorted((data / "gutenberg-books").glob("*.txt.gz"))
    ]
    step = max(1, len(contracts) // len(books))
    groups = [[*contracts[n * step : (n + 1) * step], book] for n, book in enumerate(books)]
    return itertools.cycle(itertools.chain.from_iterable(groups))


def write(data: Path, folder: Path, size: int, one_file: bool) -> int:
    """Write that many bytes of text into a folder; returns how many there are."""
    written = 0
    with (folder / "all.txt").open("wb") as single, (folder / "all.jsonl").open("wb") as lines:
        for number, text in enumerate(texts(data)):
            if written >= size:
                break
            text = text[: size - written]
            written += len(text.encode())
            if one_file:
                single.write(text.encode() + b"\n\n")
            elif len(text) > 300_000:
                (folder / f"book-{number}.txt").write_text(text, encoding="utf-8")
            else:
                lines.write(json.dumps({"id": str(number), "text": text}).encode() + b"\n")
    (folder / ("all.jsonl" if one_file else "all.txt")).unlink()
    return written


def ingest(folder: str, store: str, done: Synchronized[int]) -> None:
    """Ingest the folder and report the bytes done."""
    from slice_os import Corpus
    from slice_os.ingest.pipeline import IngestSummary

    def tell(summary: IngestSummary) -> None:
        done.value = summary.bytes

    with Corpus(store) as corpus:
        summary = corpus.ingest([folder], progress=tell)
    rate = summary.pieces / summary.seconds
    print(f"{summary.documents:,} documents, {summary.pieces:,} word pieces, {rate:,.0f} a second")


def resident(process: int) -> int:
    """Resident memory of a process in bytes."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    return 0


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--megabytes", type=float, default=20)
    parser.add_argument("--one-file", action="store_true")
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place, "text")
        folder.mkdir()
        total = write(options.data, folder, int(options.megabytes * 1e6), options.one_file)
        done = context.Value("q", 0)
        child = context.Process(target=ingest, args=(str(folder), f"{place}/store", done))
        child.start()
        highest = [0] * TENTHS
        while child.is_alive() and child.pid is not None:
            tenth = min(TENTHS - 1, int(TENTHS * done.value / total))
            highest[tenth] = max(highest[tenth], resident(child.pid))
            time.sleep(0.05)
    print(f"{total / 1e6:.1f} MB of text; highest resident memory in each tenth, MB:")
    print("  ".join(f"{value / 1e6:,.0f}" for value in highest))
    seen = [value for value in highest if value]
    print(f"last / first: {seen[-1] / seen[0]:.2f}")


if __name__ == "__main__":
    main()
