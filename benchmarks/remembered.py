"""Measure the memory of what the verifier remembers of phrases and hits, once and once more.

    python benchmarks/remembered.py

Each of many phrases that nobody has asked before is checked against six customers' turns of the
demo. What is remembered has bounds: after the first half it should be full. Also measures the
memory that labels take while they are read. Prints megabytes.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import random
import tracemalloc
from pathlib import Path
from tempfile import TemporaryDirectory

from slice_os import SpanEncoder
from slice_os.labels.label import Label
from slice_os.topics.journal import LabelJournal
from slice_os.verifier.bundled import BundledVerifier
from slice_os.verifier.claims import claim_in

CLAIMS, LABELS = 6, 8_000
DIALOGUES = Path(__file__).parents[1] / "demo" / "dialogues.jsonl"


def resident() -> float:
    """Resident memory in megabytes, on Linux."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--phrases", type=int, default=1_700)
    phrases = parser.parse_args().phrases
    with DIALOGUES.open(encoding="utf-8") as stream:
        said = [turn["text"] for line in stream for turn in json.loads(line)["text"]]
    turns = list(filter(str.strip, said))
    chosen, verifier = random.Random(0), BundledVerifier(SpanEncoder(threads=2))
    for begin, end in ((0, 1), (1, phrases), (phrases, 2 * phrases)):
        for number in range(begin, end):
            texts = chosen.sample(turns, CLAIMS)
            phrase = f"I want to cancel my order {number}"
            verifier.check([claim_in(phrase, text, 0, len(text), 0.5) for text in texts])
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)
        print(f"after {end:,} phrases: {resident():.0f}")
    with TemporaryDirectory() as folder:
        journal = LabelJournal(Path(folder, "labels.jsonl"))
        words = (
            ("topic", f"{n:05}", bool(n % 2), f"document-{n}", n, n + 5) for n in range(LABELS)
        )
        journal.add([Label(*one) for one in words])
        tracemalloc.start()
        answers = journal.of_all_readers()
        kept, most = (size / 1e6 for size in tracemalloc.get_traced_memory())
        print(f"{len(answers):,} labels: {kept:.1f}, while they are read {most:.1f}")


if __name__ == "__main__":
    main()
