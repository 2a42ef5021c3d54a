"""A fake server with scripted answers, for what no real node does on demand."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.http_server import Asked, http_server

WELCOME = b'{"version": {"distribution": "opensearch", "number": "3.5.0"}}'
NO_INDEX = b'{"error": {"type": "index_not_found_exception", "reason": "none"}}'

Answer = tuple[int, bytes]


@dataclass
class Double:
    """What a fake server records, and how it answers; to ``GET /`` with a welcome, which it counts.

    Attributes:
        answer: status and body for the body of a request; by default that it knows no index.
        url: where it listens.
        headers: of every request, names in lower case.
        peers: certificates that clients have shown.
        location: where redirects lead.
        sent: headers of its answers.
    """

    answer: Callable[[bytes], Answer] = lambda body: (404, NO_INDEX)
    url: str = ""
    headers: list[dict[str, str]] = field(default_factory=list)
    peers: list[Any] = field(default_factory=list)
    location: str = ""
    welcome: bytes = WELCOME
    welcome_status: int = 200
    welcomed: int = 0
    sent: Mapping[str, str] = field(default_factory=dict)


@contextmanager
def serving(double: Double, context: ssl.SSLContext | None = None) -> Iterator[Double]:
    """Run the server, with TLS if there is a context."""

    def answer(asked: Asked) -> None:
        if isinstance(asked.connection, ssl.SSLSocket):
            double.peers.append(asked.connection.getpeercert())
        if asked.path == "/":
            status, body = double.welcome_status, double.welcome
            double.welcomed += 1
        else:
            double.headers.append({name.lower(): value for name, value in asked.headers.items()})
            status, body = double.answer(asked.content)
        headers = {"content-type": "application/json", **double.sent}
        asked.reply(status, body, {**headers, "location": double.location or None})

    with http_server(answer, context) as double.url:
        yield double
