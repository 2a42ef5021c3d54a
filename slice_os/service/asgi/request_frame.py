"""Requests: with an id and security headers, answered after a crash, and read in time."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterator
from contextlib import suppress
from time import monotonic
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from slice_os.errors import SliceError
from slice_os.service.asgi.problems import error_response, problem_of
from slice_os.service.settings import Limits

REQUEST_ID = "X-Request-Id"
# Where many requests are worked on, sending takes that long whoever reads.
_OWN_SECONDS = 0.25
PART = 1 << 16
"""Bytes that are sent at once."""
_SENSIBLE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}

logger = logging.getLogger("slice_os.service")


class RequestFrame:
    """Adds request ids and security headers, answers errors, and leaves readers that are slow."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request.

        Raises a `SenderLeft` if nobody reads the answer.
        """
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(REQUEST_ID, "")
        request_id = given if _SENSIBLE_ID.fullmatch(given) else uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        started, sent, waited = False, 0, 0.0

        async def framed(message: Message) -> None:
            nonlocal started, sent, waited
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                headers[REQUEST_ID] = request_id
                headers.setdefault("Cache-Control", "no-store")
                headers.update(_HEADERS)
            for part in _parts(message):
                began = monotonic()
                try:
                    await asyncio.wait_for(send(part), self._limits.patience(sent) - waited)
                except (TimeoutError, asyncio.TimeoutError):
                    raise SenderLeft from None
                sent += len(part.get("body", b""))
                waited += max(0.0, monotonic() - began - _OWN_SECONDS)

        try:
            await self._app(scope, receive, framed)
        except SenderLeft:
            raise
        except asyncio.CancelledError as error:  # the service stops
            with suppress(asyncio.CancelledError):
                if not started:
                    await error_response(problem_of(error), request_id)(scope, receive, framed)
        except Exception as error:
            if not isinstance(error, SliceError):
                logger.exception("request %s failed", request_id)
            if started:
                raise
            await error_response(problem_of(error), request_id)(scope, receive, framed)


def _parts(message: Message) -> Iterator[Message]:
    """A message in small ones: the server takes each as soon as most of the others are read."""
    body = memoryview(message.get("body", b""))
    while len(body) > PART:
        yield {**message, "body": bytes(body[:PART]), "more_body": True}
        body = body[PART:]
    yield {**message, "body": bytes(body)} if "body" in message else message


class SenderLeft(Exception):  # noqa: N818  not an error
    """Nobody waits for the answer any more."""
