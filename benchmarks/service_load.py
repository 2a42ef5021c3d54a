"""Fifty clients at once: how fast a service answers, what it refuses, and what memory it takes.

Runs `slice-os serve` over a store of the demo documents, on loopback:

    python benchmarks/service_load.py --out benchmarks/results/service_load.json

1. One client searches alone, then 50 clients do at once, each with its own phrases.
2. Ten times as many clients as may wait search at once: the rest is refused with status 429.
3. The service is killed while labels are posted, and started again: every label that was
   answered is there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import numpy as np

from slice_os import Corpus
from slice_os.service.demo import DEMO_PATHS
from slice_os.version import __version__

PHRASES = (
    "I want to cancel my subscription",
    "my phone screen is broken",
    "someone used my card without permission",
    "either party may end this agreement at any time",
    "neither party pays for indirect damages",
    "the contract renews by itself each year",
    "I need a receipt",
    "the flight was late",
    "please change my seat",
    "it does not work",
)
ENDINGS = ("", " please", " today", " as soon as possible", " if you can")


@dataclass(frozen=True)
class Server:
    """A service in a process of its own."""

    address: str
    process: subprocess.Popen[str]

    def resident_megabytes(self) -> float:
        """The memory that it has."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+) kB", status)
        return round(int(found[1]) / 1024, 1) if found else 0.0


@contextmanager
def serving(store: Path, folder: Path) -> Iterator[Server]:
    """A service over a store, ready and warm."""
    command = [
        *(sys.executable, "-m", "slice_os.cli", "serve", str(store), "--port", "0"),
        *("--work", str(folder)),
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    found = re.search(r"at (http://\S+)/;", process.stderr.readline().rstrip())
    reader = threading.Thread(target=lambda: list(process.stderr or ()))
    reader.start()
    try:
        assert found
        server = Server(found[1], process)
        httpx.get(f"{server.address}/ready", timeout=300)
        httpx.post(f"{server.address}/search", json={"phrases": PHRASES[0]}, timeout=300)
        yield server
    finally:
        process.terminate()
        process.wait(60)
        reader.join()


async def load(address: str, clients: int, requests: int) -> dict[str, Any]:
    """Searches by several clients at once, each one after the other."""
    seconds: list[float] = []
    statuses: Counter[str] = Counter()

    async def search(client: httpx.AsyncClient, number: int) -> None:
        for each in range(requests):
            turn = number * requests + each
            phrase = PHRASES[turn % len(PHRASES)] + ENDINGS[turn // len(PHRASES) % len(ENDINGS)]
            begun = time.perf_counter()
            try:
                answer = await client.post("/search", json={"phrases": phrase, "top_k": 10})
                statuses[str(answer.status_code)] += 1
                if answer.status_code == 200:
                    seconds.append(time.perf_counter() - begun)
            except httpx.HTTPError as error:
                statuses[type(error).__name__] += 1

    limits = httpx.Limits(max_connections=clients)
    begun = time.perf_counter()
    async with httpx.AsyncClient(base_url=address, timeout=120, limits=limits) as client:
        await asyncio.gather(*(search(client, number) for number in range(clients)))
    wall = time.perf_counter() - begun
    p50, p95, p99 = np.percentile(seconds, [50, 95, 99]) * 1_000
    return {
        "clients": clients,
        "requests": clients * requests,
        "statuses": dict(statuses),
        "p50_ms": round(float(p50), 1),
        "p95_ms": round(float(p95), 1),
        "p99_ms": round(float(p99), 1),
        "answers_per_second": round(len(seconds) / wall, 1),
    }


def kill_and_restart(store: Path, folder: Path, seconds: float) -> dict[str, Any]:
    """Labels are posted until the service is killed; those that were answered must be there."""
    answered = []
    with serving(store, folder) as server:
        threading.Timer(seconds, lambda: server.process.send_signal(signal.SIGKILL)).start()
        with httpx.Client(base_url=server.address, timeout=30) as client:
            for number in range(100_000):
                label = {"topic": "t", "doc_id": "d", "start": number, "end": number + 1}
                body = {"labels": [{**label, "text": "a", "label": True}]}
                try:
                    client.post("/labels", json=body).raise_for_status()
                except httpx.HTTPError:
                    break
                answered.append(number)
    with serving(store, folder) as server:
        there: set[int] = set()
        after: int | None = 0
        while after is not None:
            query: dict[str, str | int] = {"topic": "t", "after": after, "limit": 1_000}
            page = httpx.get(f"{server.address}/labels", params=query, timeout=60).json()
            there |= {label["start"] for label in page["labels"]}
            after = page["next"]
    return {"answered": len(answered), "lost": len(set(answered) - there)}


def main() -> None:
    """Measure, print, and save the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--store", type=Path, help="A store of the demo documents; made if missing")
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--requests", type=int, default=20, help="of each client")
    parser.add_argument("--seconds", type=float, default=5.0, help="of labels before the kill")
    options = parser.parse_args()
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        store = folder / "demo"
        if options.store:
            shutil.copytree(options.store, store)
        else:
            with Corpus(store) as corpus:
                corpus.ingest(DEMO_PATHS)
        with serving(store, folder) as server:
            before = server.resident_megabytes()
            alone = asyncio.run(load(server.address, 1, 2 * options.requests))
            at_once = asyncio.run(load(server.address, options.clients, options.requests))
            middle = server.resident_megabytes()
            again = asyncio.run(load(server.address, options.clients, options.requests))
            after = server.resident_megabytes()
            crowd = asyncio.run(load(server.address, 10 * options.clients, 1))
        found = {
            "version": __version__,
            "machine": {"cpus": os.cpu_count(), "python": platform.python_version()},
            "load_average": round(os.getloadavg()[0], 1),
            "alone": alone,
            "at_once": at_once,
            "again": again,
            "p50_ratio": round(again["p50_ms"] / alone["p50_ms"], 1),
            "crowd": crowd,
            "resident_mb": {"before": before, "after_once": middle, "after_twice": after},
            "kill_and_restart": kill_and_restart(store, folder, options.seconds),
        }
    text = json.dumps(found, indent=2)
    print(text)
    if options.out:
        options.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
