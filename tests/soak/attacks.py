"""Attacks a service on this machine: slow readers and senders, and hostile requests.

    python -m tests.soak.attacks --out benchmarks/results/soak_attacks.json

Readers take a little of the answer of `/mine` at a time, while somebody searches. Senders without a
key, and with one, announce a long body and send next to nothing. One text that takes long to encode
is to be stored. Then come the requests of `tests.soak.hostile`. Prints what came of it, as JSON.
"""

from __future__ import annotations

import argparse
import json
import socket
import statistics
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from slice_os import Corpus, Document
from slice_os.service.asgi.keys import new_key
from tests.service.conftest import Server, served
from tests.soak import hostile
from tests.soak.hostile import megabytes
from tests.soak.report import options, saved, tell

READERS = 68
SENDERS = 32
PHRASES = {"phrases": "either party may end this contract"}
SENTENCES = (
    "Either party may end agreement number {0} by giving notice of {1} days to the other one. ",
    "The customer with number {0} pays the fee of {1} dollars within a month of the invoice. ",
    "Nobody is liable for what happens to delivery {0} after {1} days in the warehouse. ",
)


def text(characters: int) -> str:
    """A text of about that length; no two of its sentences are the same."""
    number = characters // 85
    return "".join(SENTENCES[n % 3].format(n, n % 97) for n in range(number))


def request(server: Server, path: str, key: str, length: int) -> bytes:
    """The head of a request with a body of so many bytes."""
    host = server.address.removeprefix("http://")
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n".encode()


def connect(server: Server) -> socket.socket:
    """A connection that takes little at a time."""
    host, port = server.address.removeprefix("http://").split(":")
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.connect((host, int(port)))
    connection.settimeout(0.2)
    return connection


def slow_readers(server: Server, key: str, seconds: float) -> dict[str, Any]:
    """Read slowly, and search meanwhile."""
    body = json.dumps({**PHRASES, "threshold": -1.0, "min_probability": 0.0}).encode()
    statuses: Counter[str] = Counter()
    end = threading.Event()

    def read() -> None:
        with connect(server) as reader:
            reader.sendall(request(server, "/mine", key, len(body)) + body)
            first = b""
            while not end.wait(0.25):
                with suppress(TimeoutError):
                    taken = reader.recv(256)
                    if not first:
                        statuses[taken[9:12].decode()] += 1
                    elif not taken:
                        statuses["left"] += 1
                        return
                    first = first or taken

    headers = {"Authorization": f"Bearer {key}"}
    # Loads the models.
    httpx.post(f"{server.address}/search", json=PHRASES, headers=headers, timeout=120)
    before, memory, took = megabytes(server), [0], []
    searches: Counter[int] = Counter()
    readers = [threading.Thread(target=read) for _ in range(READERS)]
    for one in readers:
        one.start()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        began = time.monotonic()
        answer = httpx.post(f"{server.address}/search", json=PHRASES, headers=headers, timeout=60)
        searches[answer.status_code] += 1
        took.append(time.monotonic() - began)
        memory.append(megabytes(server))
        time.sleep(0.5)
    during = dict(statuses)
    end.set()
    for one in readers:
        one.join()
    time.sleep(5)
    return {
        "readers": during,
        "searches": searches,
        "median_search_seconds": round(statistics.median(took), 2),
        "megabytes": {"before": before, "most": max(memory), "after": megabytes(server)},
    }


def slow_senders(server: Server, key: str, patience: float) -> dict[str, Any]:
    """Announce a long body, and send a byte a second."""
    ends: Counter[str] = Counter()
    took: list[float] = []

    def send() -> None:
        with connect(server) as sender:
            sender.sendall(request(server, "/documents", key, 10_000_000))
            began, answer = time.monotonic(), b""
            while not answer and time.monotonic() < began + patience:
                with suppress(TimeoutError, OSError):
                    answer = sender.recv(256)
                with suppress(OSError):
                    sender.send(b" ")
                time.sleep(0.8)
            ends[answer[9:12].decode() or "none"] += 1
            took.append(time.monotonic() - began)

    senders = [threading.Thread(target=send) for _ in range(SENDERS)]
    for one in senders:
        one.start()
    for one in senders:
        one.join()
    return {"answers": ends, "most_seconds": round(max(took), 1)}


def long_body(server: Server, key: str, size: int, patience: float) -> dict[str, Any]:
    """Store a long text, and then a short one."""
    headers = {"Authorization": f"Bearer {key}"}

    def store(name: str, content: str) -> tuple[str, float]:
        began = time.monotonic()
        body = {"documents": [{"id": name, "text": content}]}
        try:
            answer = httpx.post(
                f"{server.address}/documents", json=body, headers=headers, timeout=patience
            )
            told = str(answer.status_code)
        except httpx.TimeoutException:
            told = "none"
        return told, round(time.monotonic() - began, 1)

    long, short = store("long", text(size)), store("short", "A short text.")
    shown = httpx.get(f"{server.address}/documents/long", headers=headers, timeout=60)
    return {"long": long, "short_after_it": short, "long_is_shown": shown.status_code == 200}


def slow(place: Path, chosen: argparse.Namespace) -> dict[str, Any]:
    """Read and send slowly."""
    store, keys = place / "store", place / "keys.jsonl"
    key = new_key(keys, "somebody", ["read", "write"])
    with Corpus(store) as corpus:
        corpus.add([Document("many", text(200_000))])
    with served(str(store), "--keys", str(keys)) as server:
        return {
            "slow_readers": slow_readers(server, key, chosen.seconds),
            "without_a_key": slow_senders(server, "slice-none", chosen.patience),
            "slow_bodies": slow_senders(server, key, chosen.patience),
            "a_long_body": long_body(server, key, chosen.characters, chosen.patience),
        }


def hostile_requests(place: Path, chosen: argparse.Namespace) -> dict[str, Any]:
    """Send what `tests.soak.hostile` has."""
    store, keys, strokes = place / "store", place / "keys.jsonl", place / "strokes.pdf"
    key = new_key(keys, "somebody", ["read", "write", "curate"])
    strokes.write_bytes(hostile.pdf(250, 60_000))
    with Corpus(store) as corpus:
        corpus.add([Document("many", text(100_000), {"kind": "a"})])
        corpus.ingest([strokes])
        (page,) = (one.id for one in corpus.documents() if one.source)
    with served(str(store), "--work", str(place)) as server:
        hosts = hostile.hosts(server)
    with served(str(store), "--work", str(place), "--keys", str(keys)) as server:
        # Loads the models.
        hostile.posted(server, "/search", json.dumps(hostile.SEARCH).encode(), key, 120)
        with hostile.watched(server) as quiet:
            time.sleep(5)
        return {
            "quiet": quiet,
            "hosts": hosts,
            "odd_wire": hostile.odd_wire(server),
            "silent_connections": hostile.silent_connections(server),
            "refused_bodies": hostile.refused_bodies(server, key, chosen.patience),
            "many_senders": hostile.many_senders(server, key),
            "held_threads": hostile.held_threads(server, key, page, chosen.patience),
            "huge_topic": hostile.huge_topic(server, key, 200_000, chosen.patience),
            "most_topics": hostile.most_topics(server, key, chosen.patience),
        }


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("--only", choices=["slow", "hostile"])
    parser.add_argument("--seconds", type=float, default=60, help="of reading slowly")
    parser.add_argument("--patience", type=float, default=600, help="seconds to wait for an answer")
    parser.add_argument("--characters", type=int, default=8_000_000, help="of the long text")
    chosen = parser.parse_args()
    report = saved(chosen.out)
    for name, attack in (("slow", slow), ("hostile", hostile_requests)):
        if chosen.only in (None, name):
            with tempfile.TemporaryDirectory() as place:
                report |= attack(Path(place), chosen)
    tell(report, chosen.out)


if __name__ == "__main__":
    main()
