"""Requests as a whole: the body of each is bounded, and so are all bodies together."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext, suppress
from time import monotonic

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from slice_os.service.asgi.problems import Problem
from slice_os.service.asgi.request_frame import SenderLeft
from slice_os.service.asgi.work import SENDER, Unread, give_back_memory
from slice_os.service.settings import Limits

# Routes whose bodies hold documents, hits or passages.
_LONG = {"/documents", "/scan", "/tag", "/encode", "/export", "/labels"}
# These come in however many long ones do.
_SHORT = 1 << 16
_LARGE = 1 << 20
_STEP_SECONDS, _REST_SECONDS = 0.05, 1.0


class WholeRequests:
    """Passes on whole requests, and cancels the work when their sender disconnects.

    There is room for some bodies that come in or are worked on; no key has more than half of it.
    """

    def __init__(self, app: ASGIApp, limits: Limits, unread: Unread) -> None:
        self._app = app
        self._limits = limits
        self._unread = unread
        self._held: Counter[str | None] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request.

        Raises:
            Problem: 413 if the body is too large, 429 if all bodies together are, 408 if it comes
                too slowly.
            SenderLeft: if its sender disconnects.
        """
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        route, headers = scope.get("route"), Headers(scope=scope)
        if route is None:  # a file of the page, which is read as it is sent, or nothing
            await self._app(scope, replayed(b""), send)
            return
        most = self._limits.body_bytes
        if route.path not in _LONG:
            most = min(most, self._limits.short_body_bytes)
        if route.body_field is None:  # nobody reads it
            await self._answer(scope, receive, send, b"")
            return
        announced = int(headers.get("Content-Length", 0))
        if "Transfer-Encoding" in headers:  # nobody knows how long it becomes
            announced = most
        if announced > most:
            raise _too_large(most)
        async with self._holding(announced) if announced > _SHORT else nullcontext():
            await self._answer(scope, receive, send, await self._body(receive, most))

    @asynccontextmanager
    async def _holding(self, size: int) -> AsyncIterator[None]:
        """Have room for a body, for which others may have to end; a Problem, 429, if none does."""
        key, until = SENDER.get(), monotonic() + self._limits.idle_seconds
        while not self._has_room(key, size):
            if monotonic() > until:
                message = "others send much just now; try again in a few seconds"
                raise Problem(429, "busy", message, {"Retry-After": "3"})
            await asyncio.sleep(_STEP_SECONDS)
        self._held[key] += size
        try:
            yield
        finally:
            self._held[key] -= size
            if size > _LARGE:
                loop = asyncio.get_running_loop()
                # What was read from the body is dropped a little later.
                loop.call_later(_REST_SECONDS, loop.run_in_executor, None, give_back_memory)

    def _has_room(self, key: str | None, size: int) -> bool:
        most = self._limits.bodies_bytes
        own = self._held[key] if key is not None else 0
        return own + size <= most // 2 and self._held.total() + size <= most

    async def _answer(self, scope: Scope, receive: Receive, send: Send, body: bytes) -> None:
        async def counted(message: Message) -> None:
            with self._unread.sending(len(message.get("body", b""))):
                await send(message)

        answering = asyncio.ensure_future(self._app(scope, replayed(body), counted))
        leaving = asyncio.ensure_future(_left(receive))
        try:
            await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
            if not answering.done():
                answering.cancel()
                with suppress(asyncio.CancelledError):
                    await answering
                raise SenderLeft
            answering.result()
        finally:
            answering.cancel()
            leaving.cancel()

    async def _body(self, receive: Receive, most: int) -> bytes:
        """The body, which has to go on coming."""
        parts: list[bytes] = []
        size, began = 0, monotonic()
        while True:
            left = began + self._limits.patience(size) - monotonic()
            try:
                message = await asyncio.wait_for(receive(), left)
            except (TimeoutError, asyncio.TimeoutError):
                slow = "the body comes too slowly; send it again"
                raise Problem(408, "too_slow", slow) from None
            if message["type"] == "http.disconnect":
                raise SenderLeft
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > most:
                raise _too_large(most)
            if not message.get("more_body", False):
                return b"".join(parts)


def replayed(body: bytes) -> Receive:
    """Receives the body at once, and nothing after it."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        if messages:
            return messages.pop()
        # `WholeRequests` watches for a sender that disconnects.
        never: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        return await never

    return receive


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _too_large(most: int) -> Problem:
    return Problem(413, "too_large", f"a body has {most:,} bytes at most here; send less")
