"""A server in a thread, for what no real one does on demand; a function answers its requests."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Asked(BaseHTTPRequestHandler):
    """A request whose body was read into `content`, to be answered by `reply`."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # else the body waits 40 ms for who got the headers to say so
    content = b""

    def answer(self) -> None:
        """Let the function of the server answer."""
        self.content = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.server.answer(self)  # type: ignore[attr-defined]

    do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = answer  # noqa: N815  http.server's names

    def reply(
        self,
        status: int,
        body: bytes = b"",
        headers: Mapping[str, str | None] = {},
        length: int | None = None,
    ) -> None:
        """Send an answer without the headers that are None; a length may be wrong."""
        length = len(body) if length is None else length
        self.send_response(status)
        for name, value in {"content-length": str(length), **headers}.items():
            if value is not None:
                self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.close_connection = length != len(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    def __init__(self, answer: Callable[[Asked], None]) -> None:
        self.answer = answer
        super().__init__(("127.0.0.1", 0), Asked)

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a handshake or an answer that the client gave up


@contextmanager
def http_server(
    answer: Callable[[Asked], None], context: ssl.SSLContext | None = None
) -> Iterator[str]:
    """The address of a server, with TLS if there is a context."""
    with _Server(answer) as server:
        if context is not None:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            scheme = "http" if context is None else "https"
            yield f"{scheme}://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
