"""Hostile requests for a service on this machine: hosts, bodies, long work, and huge topics.

Each attack returns what the attacker was answered, how long that took, and what others saw
meanwhile: the slowest answer of `/health`, and how long a usual search then had to wait.
"""

from __future__ import annotations

import http.client
import json
import re
import resource
import socket
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from slice_os.topics.folder import MOST_PHRASES
from slice_os.topics.topic import MOST_TEXTS
from tests.service.conftest import Server

MILLION = 1_000_000
MARKS = "`{}|^~#?/@\\%<>\"';,!$&()*+=_ "
HOSTS = (
    *("", "a{b}.evil.example", "[::1%lo]", "evil.example", "127.0.0.1.evil.example", "127.0.0.1:x"),
    *("a" + mark + "b.evil.example" for mark in MARKS),
    *("127.0.0.1" + mark + "x" for mark in MARKS),
    *("x" + mark + "127.0.0.1" for mark in MARKS),
)
ORIGINS = (
    *("null", "https://evil.example", "file://", "https://127.0.0.1", "http://127.0.0.1:1"),
    *(f"http://{host}" for host in HOSTS),
)
SEARCH = {"phrases": "either party may end this contract", "store": "store"}


def address_of(server: Server) -> tuple[str, int]:
    host, port = server.address.removeprefix("http://").split(":")
    return host, int(port)


def megabytes(server: Server) -> int:
    """The memory of the service."""
    status = Path(f"/proc/{server.process.pid}/status").read_text("utf-8")
    return int(re.findall(r"VmRSS:\s*(\d+)", status)[0]) >> 10


@contextmanager
def watched(server: Server) -> Iterator[dict[str, Any]]:
    """Ask for `/health` all the time; the slowest answer and the most memory are in the result."""
    seen: dict[str, Any] = {"slowest_health_ms": 0.0, "most_megabytes": 0, "health_failed": 0}
    ended = threading.Event()

    def watch() -> None:
        connection = http.client.HTTPConnection(*address_of(server), timeout=120)
        while not ended.wait(0.02):
            began = time.perf_counter()
            try:
                connection.request("GET", "/health")
                connection.getresponse().read()
            except (OSError, http.client.HTTPException):
                seen["health_failed"] += 1
                connection.close()
                continue
            took = round(1_000 * (time.perf_counter() - began), 1)
            seen["slowest_health_ms"] = max(seen["slowest_health_ms"], took)
            seen["most_megabytes"] = max(seen["most_megabytes"], megabytes(server))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        ended.set()
        thread.join()


def posted(
    server: Server, path: str, content: bytes, key: str, patience: float, method: str = "POST"
) -> tuple[str, float]:
    """The status of a request, or why there is none, and the seconds that it took."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    began = time.monotonic()
    # httpx copies what is left to send again and again, which would hold up who watches.
    connection = http.client.HTTPConnection(*address_of(server), timeout=patience)
    try:
        with suppress(BrokenPipeError, ConnectionResetError):  # refused before all is sent
            connection.request(method, path, content, headers)
        answer = connection.sock and connection.getresponse()
        told = str(answer.status) if answer else "none"
        if answer:
            answer.read()
    except (OSError, http.client.HTTPException) as error:
        told = type(error).__name__
    finally:
        connection.close()
    return told, round(time.monotonic() - began, 1)


def hosts(server: Server) -> dict[str, Any]:
    """The statuses for foreign hosts and origins; the service must have no keys."""
    own = server.address.removeprefix("http://")
    heads = {
        "hosts": [f"Host: {host}" for host in HOSTS],
        "origins": [f"Host: {own}\r\nOrigin: {origin}" for origin in ORIGINS],
    }
    found: dict[str, Any] = {"answered": []}
    for kind, lines in heads.items():
        statuses: Counter[str] = Counter()
        for line in lines:
            with socket.create_connection(address_of(server), timeout=30) as connection:
                connection.sendall(f"GET /documents HTTP/1.1\r\n{line}\r\n\r\n".encode())
                status = connection.recv(64)[9:12].decode() or "closed"
            statuses[status] += 1
            if status.startswith("2"):
                found["answered"].append(line)
        found[kind] = statuses
    return found


def bodies() -> dict[str, tuple[str, bytes]]:
    """Paths that a read key may ask, and bodies for them that are refused in the end."""
    fields = ",".join(f'"f{number}":1' for number in range(MILLION))
    lists = ",".join(f'"f{number}":[]' for number in range(MILLION))
    deep = "[" * 8_000_000
    scan = '{{"phrases":"a","documents":[{{"text":"b","metadata":{{{}}}}}]}}'
    segments = ",".join(["[]"] * 4 * MILLION)
    return {
        "a million unknown fields": ("/search", f"{{{fields}}}".encode()),
        "the same where documents come in": ("/scan", f"{{{fields}}}".encode()),
        "a million lists as metadata": ("/scan", scan.format(lists).encode()),
        "four million segments that are none": (
            "/scan",
            f'{{"phrases":"a","documents":[{{"text":"b","segments":[{segments}]}}]}}'.encode(),
        ),
        "brackets eight million deep": ("/tag", deep.encode()),
    }


def refused_bodies(server: Server, key: str, patience: float) -> dict[str, Any]:
    """Send bodies that are refused, one after the other."""
    found = {}
    for name, (path, content) in bodies().items():
        with watched(server) as seen:
            status, seconds = posted(server, path, content, key, patience)
            time.sleep(0.5)
        found[name] = {"status": status, "seconds": seconds, **seen}
    return found


def odd_wire(server: Server) -> dict[str, Any]:
    """Send, without a key, what is long to read for its size, or does not end after its answer."""
    own = f"Host: {server.address.removeprefix('http://')}\r\n".encode()
    chunked = b"POST /scan HTTP/1.1\r\n" + own + b"Transfer-Encoding: chunked\r\n\r\n"
    found = {}
    for name, content in {
        "three million chunks of a byte": chunked + b"1\r\n \r\n" * 3 * MILLION,
        "a head of 16,000 fields": b"GET /health HTTP/1.1\r\n" + own + b"a:\r\n" * 16_000 + b"\r\n",
        "an address of 30,000 fields": b"GET /search?" + b"q=a&" * 15_000 + b" HTTP/1.1\r\n" + own,
        "a chunk without a size": chunked + b"none\r\n",
    }.items():
        began, answer = time.monotonic(), b""
        with watched(server) as seen, socket.create_connection(address_of(server), 30) as sender:
            with suppress(OSError):
                sender.sendall(content)
            with suppress(OSError):
                answer = sender.recv(64)
            time.sleep(0.5)
        seconds = round(time.monotonic() - began, 1)
        found[name] = {"status": answer[9:12].decode() or "closed", "seconds": seconds, **seen}
    return found


def many_senders(server: Server, key: str, senders: int = 100) -> dict[str, Any]:
    """Send many large bodies at once, without the last byte, and then that."""
    size = 15 << 20
    host, port = address_of(server)
    head = f"POST /scan HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {key}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {size}\r\n\r\n"
    content = b'{"phrases":"a","documents":[{"text":"' + b"a" * (size - 50)
    statuses: Counter[str] = Counter()
    before, together = megabytes(server), threading.Barrier(senders)

    def send() -> None:
        with socket.create_connection((host, port), timeout=120) as connection:
            answer = b""
            with suppress(OSError):
                connection.sendall(head.encode() + content)
            with suppress(threading.BrokenBarrierError):
                together.wait(60)
            with suppress(OSError):
                connection.sendall(b" " * (size - len(content)))
            with suppress(OSError):
                answer = connection.recv(64)
            statuses[answer[9:12].decode() or "closed"] += 1

    with watched(server) as seen:
        threads = [threading.Thread(target=send) for _ in range(senders)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    time.sleep(5)
    return {"statuses": statuses, "before": before, "after": megabytes(server), **seen}


def pdf(pages: int, strokes: int) -> bytes:
    """A small PDF file; all of its pages have the same words and many strokes."""
    drawn = b"BT /F1 12 Tf 72 720 Td (The fee is due in thirty days.) Tj ET\n"
    packed = zlib.compress(drawn + b"0 0 m 600 800 l S\n" * strokes, 9)
    kids = b" ".join(b"%d 0 R" % (5 + number) for number in range(pages))
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R"
    page += b"/Resources<</Font<</F1 3 0 R>>>>>>"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Count %d/Kids[%s]>>" % (pages, kids),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(packed), packed),
        *[page] * pages,
    ]
    content, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    end = b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (size, len(content))
    return content + b"xref\n0 %d\n0000000000 65535 f \n" % size + table + end


def long_work(page: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Requests that take long; ``page`` is the id of a document of `pdf`."""
    words = "notice of termination by either party and "
    return {
        "a filter of a million values": (
            "/search",
            {**SEARCH, "where": {"kind": [f"{number}" for number in range(MILLION)]}},
        ),
        "100 phrases of 9,450 characters": (
            "/search",
            {**SEARCH, "phrases": [f"{n} {words * 225}"[:9_450] for n in range(100)]},
        ),
        "pages with many strokes": (f"/pages/{page}", {"store": "store", "page": 2}),
    }


def silent_connections(server: Server, count: int = 3_000) -> dict[str, Any]:
    """Open connections, and ask for `/health` on others meanwhile.

    Of each three, one sends nothing, one half a head, and one is kept open once it has an answer.
    """
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(files[0], count + 500), files[1]))
    half = f"GET /health HTTP/1.1\r\nHost: {server.address.removeprefix('http://')}\r\n".encode()
    took: list[float] = []
    with ExitStack() as opened:
        for number in range(count):
            one = opened.enter_context(socket.create_connection(address_of(server), 20))
            with suppress(ConnectionError):
                one.sendall((b"", half, half + b"\r\n")[number % 3])
                if number % 3 == 2:
                    one.recv(4_096)
            if number % 100 == 0:
                answer, seconds = posted(server, "/health", b"", "", 60, "GET")
                assert answer == "200", answer
                took.append(seconds)
        most = megabytes(server)
    return {"slowest_health_s": max(took), "most_megabytes": most}


def held_threads(server: Server, key: str, page: str, patience: float) -> dict[str, Any]:
    """Ask three times for what takes long; then see how long a usual search has to wait."""
    found = {}
    for name, (path, body) in long_work(page).items():
        content = json.dumps(body).encode()
        answers: list[tuple[str, float]] = []
        with watched(server) as seen:
            threads = [
                threading.Thread(
                    target=lambda path=path, content=content, answers=answers: answers.append(
                        posted(server, path, content, key, patience)
                    )
                )
                for _ in range(3)
            ]
            for one in threads:
                one.start()
            time.sleep(1)
            began, tries = time.monotonic(), 0
            while posted(server, "/search", json.dumps(SEARCH).encode(), key, patience)[0] != "200":
                tries += 1
                time.sleep(0.2)
                if time.monotonic() > began + patience:
                    break
            waited = round(time.monotonic() - began, 1)
            for one in threads:
                one.join()
        found[name] = {
            "answers": sorted(answers),
            "search_waited_seconds": waited,
            "searches_refused": tries,
            **seen,
        }
    return found


def huge_topic(server: Server, key: str, phrases: int, patience: float) -> dict[str, Any]:
    """Add a topic of many phrases; then read topics and counts."""
    texts = [f"either party may end agreement number {number}" for number in range(phrases)]
    body = json.dumps({"name": "huge", "phrases": texts}).encode()
    with watched(server) as seen:
        added = posted(server, "/topics", body, key, patience)
        time.sleep(2)
        later = read_after(server, key, patience)
    return {"added": added, **later, **seen}


def read_after(server: Server, key: str, patience: float) -> dict[str, Any]:
    """What reading topics and counts, and then a search, answered, with their seconds."""
    return {
        "topics": posted(server, "/topics", b"", key, patience, "GET"),
        "counts": posted(server, "/counts?store=store", b"", key, patience, "GET"),
        "search": posted(server, "/search", json.dumps(SEARCH).encode(), key, patience),
    }


def most_topics(server: Server, key: str, patience: float) -> dict[str, Any]:
    """Add as many phrases as are allowed; then read topics and counts, and delete the topics."""
    texts = [f"either party may end agreement number {number}" for number in range(MOST_TEXTS)]
    names = [f"full-{number}" for number in range(MOST_PHRASES // MOST_TEXTS)]
    with watched(server) as seen:
        bodies = [json.dumps({"name": name, "phrases": texts}).encode() for name in names]
        added = Counter(posted(server, "/topics", body, key, patience)[0] for body in bodies)
        later = read_after(server, key, patience)
    for name in names:
        posted(server, f"/topics/{name}", b"", key, patience, "DELETE")
    return {"added": added, **later, **seen}
