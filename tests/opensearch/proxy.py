"""A proxy in front of a real node that spoils answers, for what no node does on demand."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from tests.http_server import Asked, http_server

JSON = "application/json"
PRODUCT = "x-elastic-product"


@dataclass(frozen=True)
class Reply:
    """What the proxy answers.

    Attributes:
        status: of the answer.
        body: of the answer.
        kind: its content type.
        retry_after: seconds to wait, for the header of that name.
        length: as the header says; that of the body by default.
        delay: seconds before the answer.
        silent: close the connection without any answer.
        product: what the node says that it is, for Elasticsearch's header of that name.
    """

    status: int
    body: bytes
    kind: str = JSON
    retry_after: str | None = None
    length: int | None = None
    delay: float = 0.0
    silent: bool = False
    product: str | None = None


@dataclass(frozen=True)
class Request:
    """What the proxy was sent, and its header Authorization; `number` counts from 0."""

    number: int
    method: str
    path: str
    body: bytes
    login: str | None = None


Forward = Callable[[], Reply]
Fault = Callable[[Request, Forward], Reply]


def no_fault(request: Request, forward: Forward) -> Reply:
    """The answer as it is."""
    return forward()


@dataclass
class Proxy:
    """A proxy; `fault` may be exchanged at any time.

    Attributes:
        target: address of the node.
        fault: answers a request, and may forward it.
        url: where it listens.
        requests: how many there were.
    """

    target: str
    fault: Fault = no_fault
    url: str = ""
    requests: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> Reply:
        """The answer to a request."""
        with self._lock:
            request = Request(self.requests, method, path, body, headers.get("authorization"))
            self.requests += 1
        return self.fault(request, lambda: self._forward(request, headers))

    def _forward(self, request: Request, headers: dict[str, str]) -> Reply:
        connection = http.client.HTTPConnection(urlsplit(self.target).netloc, timeout=300)
        try:
            connection.request(request.method, request.path, request.body, headers)
            found = connection.getresponse()
            kind, product = found.headers.get_content_type(), found.headers[PRODUCT]
            return Reply(found.status, found.read(), kind, product=product)
        finally:
            connection.close()


@contextmanager
def proxying(proxy: Proxy) -> Iterator[Proxy]:
    """Run the proxy."""

    def answer(asked: Asked) -> None:
        kept = ("content-type", "authorization")
        headers = {name: asked.headers[name] for name in kept if name in asked.headers}
        try:
            reply = proxy.answer(asked.command, asked.path, asked.content, headers)
        except OSError:
            reply = Reply(502, b"<html>Bad Gateway</html>", "text/html")
        time.sleep(reply.delay)
        if reply.silent:
            asked.close_connection = True
            return
        told = {"content-type": reply.kind, "retry-after": reply.retry_after}
        asked.reply(reply.status, reply.body, {**told, PRODUCT: reply.product}, reply.length)

    with http_server(answer) as proxy.url:
        yield proxy


def refusing(status: int, retry_after: str | None = None) -> Fault:
    """Refuse a request without carrying it out: in OpenSearch's words, or in those of a proxy."""
    if status == 429:
        cause = {"type": "rejected_execution_exception", "reason": "the queue is full"}
        body = json.dumps({"status": status, "error": {"root_cause": [cause], **cause}}).encode()
        return lambda request, forward: Reply(status, body, retry_after=retry_after)
    body = b"<html><h1>Service Unavailable</h1></html>"
    return lambda request, forward: Reply(status, body, "text/html", retry_after)


def closed(request: Request, forward: Forward) -> Reply:
    """Carry a request out, and lose the answer."""
    return replace(forward(), silent=True)


def cut(request: Request, forward: Forward) -> Reply:
    """End the connection in the middle of an answer."""
    reply = forward()
    return replace(reply, body=reply.body[: len(reply.body) // 2], length=len(reply.body))


def shortened(request: Request, forward: Forward) -> Reply:
    """Half of an answer, as if it were all."""
    reply = forward()
    return replace(reply, body=reply.body[: len(reply.body) // 2])


def page(request: Request, forward: Forward) -> Reply:
    """A page for people, with status 200."""
    return Reply(200, b"<html>Please log in</html>", "text/html")


def no_route(request: Request, forward: Forward) -> Reply:
    """What a proxy answers that does not know where its server is."""
    return Reply(404, b"default backend - 404", "text/plain")


def slow(seconds: float) -> Fault:
    """Answer late."""
    return lambda request, forward: replace(forward(), delay=seconds)


def partial(**changes: Any) -> Fault:
    """An answer of which parts lack some shards, or time, and hits."""

    def fault(request: Request, forward: Forward) -> Reply:
        reply = forward()
        if reply.kind != JSON or reply.status != 200:
            return reply
        answer = json.loads(reply.body)
        if not isinstance(answer, dict):
            return reply
        for part in answer.get("responses", [answer]):
            if "_shards" in part:
                _spoil(part, changes)
        return replace(reply, body=json.dumps(answer).encode())

    return fault


def _spoil(part: dict[str, Any], changes: dict[str, Any]) -> None:
    for name, change in changes.items():
        part[name] = part[name] | change if isinstance(change, dict) else change
    if "hits" in part:
        part["hits"]["hits"] = part["hits"]["hits"][::2]


shards_failed = partial(_shards={"failed": 1, "failures": [{"reason": {"reason": "node is gone"}}]})
timed_out = partial(timed_out=True)
