"""A fake server with scripted answers, for what no real node does on demand."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

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

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            request = self.rfile.read(int(self.headers.get("content-length") or 0))
            asked = self.path != "/"
            if asked:
                names = {name.lower(): value for name, value in self.headers.items()}
                double.headers.append(names)
            if isinstance(self.connection, ssl.SSLSocket):
                double.peers.append(self.connection.getpeercert())
            status, body = double.welcome_status, double.welcome
            if asked:
                status, body = double.answer(request)
            double.welcomed += not asked
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            for name, value in double.sent.items():
                self.send_header(name, value)
            if double.location:
                self.send_header("location", double.location)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = answer  # noqa: N815  http.server's names

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # a handshake or an answer that the client gave up

    with Server(("127.0.0.1", 0), Handler) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "http" if context is None else "https"
        double.url = f"{scheme}://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield double
        finally:
            server.shutdown()
            thread.join()
