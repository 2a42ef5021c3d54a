"""Counts of a topic of a thousand phrases, all near a store, and searches beside them.

    python -m tests.soak.near_counts --passages 300 --out near_counts.json
    python -m tests.soak.near_counts --passages 300 --threshold 0 --out near_counts.json

A service counts a topic in stores of several sizes. Of each: the answer, the seconds of the clock
and of the service's threads that it took, and what a search beside it and `/health` took.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import httpx

from slice_os import Corpus, Document
from slice_os.ingest.readers.reader import ReadOptions
from slice_os.ingest.reading import read
from slice_os.ingest.sources import find_sources
from tests.service.conftest import Server, served
from tests.soak.asking import DEMO
from tests.soak.hostile import watched
from tests.soak.report import options, saved, tell

PAUSE = 0.5


def store_of(passages: int, folder: Path) -> int:
    """Make a store of dialogues with about so many passages; how many it has."""
    read_ones = (one for source in find_sources([DEMO]) for one in read(source, ReadOptions()))
    documents = (one for one in read_ones if isinstance(one, Document))
    with Corpus(folder) as corpus:
        corpus.add(islice(documents, 5))
        while corpus.info().passages < passages:
            corpus.add(islice(documents, 5))
        return corpus.info().passages


def counted(
    server: Server, phrases: int, threshold: float | None, patience: float
) -> dict[str, Any]:
    """Count a topic of so many phrases, and search meanwhile."""
    texts = [f"can you help me with order number {number}" for number in range(phrases)]
    topic = f"{server.address}/topics/near"
    cut = {} if threshold is None else {"threshold": threshold}
    httpx.put(topic, json={"phrases": texts, **cut}, timeout=120).raise_for_status()
    searches: list[float] = []
    used, began = processor(server), time.monotonic()
    with watched(server) as seen, ThreadPoolExecutor(1) as thread:
        asked = thread.submit(httpx.get, f"{topic}/counts", timeout=patience)
        while not asked.done():
            wanted = {"phrases": f"the flight number {len(searches)} is late"}
            asked_at = time.monotonic()
            httpx.post(f"{server.address}/search", json=wanted, timeout=patience).raise_for_status()
            searches.append(time.monotonic() - asked_at)
            time.sleep(PAUSE)
        answer = asked.result()
    told = answer.json()
    return {
        "status": answer.status_code,
        "told": told["error"]["message"] if "error" in told else f"{told['total']} hits",
        "seconds": round(time.monotonic() - began, 1),
        "processor_seconds": round(processor(server) - used, 1),
        "searches": len(searches),
        "search_median": round(statistics.median(searches), 2),
        "search_slowest": round(max(searches), 2),
        **seen,
    }


def processor(server: Server) -> float:
    """The seconds of the processor that a service has used."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text("utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--passages", type=int, nargs="*", default=[150, 300, 600, 1_200])
    parser.add_argument("--phrases", type=int, default=1_000)
    parser.add_argument("--threshold", type=float, help="of the topic; else the usual cut")
    parser.add_argument("--patience", type=float, default=900.0)
    chosen = parser.parse_args()
    report = saved(chosen.out)
    cut = "usual cut" if chosen.threshold is None else f"cosine {chosen.threshold:g}"
    for passages in chosen.passages:
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder) / "store"
            size = store_of(passages, store)
            with served(str(store), "--work", folder) as server:
                found = counted(server, chosen.phrases, chosen.threshold, chosen.patience)
        report[f"{chosen.phrases} phrases, {size} passages, {cut}"] = found
        tell(report, chosen.out)


if __name__ == "__main__":
    main()
