"""Settings of a service; light to import."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

# Limits that the OpenAPI description has, too.
MOST_PHRASES = 100
LONGEST_PHRASE = 10_000
# Of all phrases and counter-phrases of a request together.
LONGEST_PHRASES = 20_000
MOST_HITS = 2_000
MOST_AROUND = 1_000
# The page mines so many.
MOST_EXPORTED = 5_000
MOST_TEXTS = 1_000


def _usable_cores() -> int:
    from slice_os.threads import usable_cores  # slow to import

    return usable_cores()


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one request, and of all together.

    Attributes:
        body_bytes: size of the body of a request with documents or hits.
        short_body_bytes: size of any other body.
        connections: that may be open; beyond them, a further one ends the oldest that waits for a
            request or its rest.
        bodies_bytes: of all bodies that come in or are worked on; no key has more than half.
        answers_bytes: of all answers that are sent; a key that has more than half of it under way,
            or anybody if all have more than that, is refused with status 429.
        workers: requests that run at the same time, apart from mining and from writing.
        waiting: requests that wait for a worker; more are refused with status 429.
        wait_seconds: that a request may wait for a worker; one that would wait longer, or has, is
            refused with status 429.
        streams: minings that run or wait.
        writes: requests to store or delete documents that run or wait.
        originals: requests for pages of files that run or wait.
        seconds: time for an answer; mining has `mine_seconds`, writing `write_seconds`.
        mine_seconds: time for mining, which streams its answer.
        write_seconds: time for storing documents.
        idle_seconds: time without progress for who sends a body or reads an answer.
        bytes_per_second: the least progress that counts.
        stop_seconds: time for running requests to end when the service stops.
    """

    body_bytes: int = 16 << 20
    short_body_bytes: int = 1 << 20
    connections: int = 1_000
    bodies_bytes: int = 64 << 20
    answers_bytes: int = 128 << 20
    workers: int = field(default_factory=lambda: max(2, _usable_cores()))
    waiting: int = 64
    wait_seconds: float = 0.5
    streams: int = 16
    writes: int = 16
    originals: int = 8
    seconds: float = 30.0
    mine_seconds: float = 600.0
    write_seconds: float = 120.0
    idle_seconds: float = 10.0
    bytes_per_second: int = 1 << 16
    stop_seconds: float = 10.0

    def patience(self, done: int) -> float:
        """Seconds to wait in all for another who has sent or read so many bytes."""
        return self.idle_seconds + done / self.bytes_per_second


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Stores, files, address and limits of a service.

    Attributes:
        stores: locations of stores by the names that requests use.
        work: folder of topic files and labels, made with the first of them.
        host: address to listen on.
        port: port to listen on.
        keys: file of API keys; None to demand none, which only a loopback address may do.
        reached_at: the address that people use, if it is another one than host and port; such as
            that of a reverse proxy, or of the port that a container publishes.
        limits: of requests.
        verifier: name of the verifier for requests and topics that name none; None for the
            bundled one.
        model: folder or name of a model, for the stores that it made; None if a bundled one made
            all of them.
    """

    stores: Mapping[str, str]
    work: Path = Path()
    host: str = "127.0.0.1"
    port: int = 8000
    keys: Path | None = None
    reached_at: str | None = None
    limits: Limits = field(default_factory=Limits)
    verifier: str | None = None
    model: str | None = None
