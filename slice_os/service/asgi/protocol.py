"""HTTP/1.1 as uvicorn speaks it, within bounds: on time, and in parts that are worth reading."""

from __future__ import annotations

import re
from asyncio import TimerHandle, Transport
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_HEAD_END = re.compile(rb"\n\r?\n")
_LAST_CHUNK = re.compile(rb"(?:\r\n)?0+[;\r]")
# Nothing else runs while a head, or what follows the last chunk, is read, however long it takes.
_LONGEST_HEAD, _MOST_PARTS = 1 << 16, 500
# So many chunks, and one more for each of so many bytes.
_MOST_CHUNKS, _CHUNK = 1_000, 256
_BOTH_LENGTHS = {b"content-length", b"transfer-encoding"}


class PromptProtocol(H11Protocol):
    """HTTP/1.1 that closes a connection if what should come next is not there in time.

    uvicorn limits the time between two requests alone. Whoever opened connections and sent
    nothing, or half a header, would keep them for good, without a key; so would who goes on to send
    the body of a request that was refused. And if many are open, a further one ends the oldest that
    waits for a request or its rest, so that files to accept connections with never run out.

    Args:
        seconds: for a head, from the connection or from the first byte of a further request; and
            for the rest of a body, from the answer.
        most: connections that may be open.
        waiting: those of a service that have no whole request, the oldest first.
        given: what uvicorn gives.
    """

    def __init__(
        self, seconds: float, most: int, waiting: dict[PromptProtocol, None], **given: Any
    ) -> None:
        super().__init__(**given)
        self.conn = _Bounded(h11.SERVER, _LONGEST_HEAD)
        self._seconds, self._most, self._waiting = seconds, most, waiting
        self._late: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Expect a request."""
        super().connection_made(transport)
        self._watch()
        if len(self.connections) > self._most:
            oldest = next(iter(self._waiting))
            del self._waiting[oldest]
            oldest.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """Expect no more than the rest of the request."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self._note()
        if self.conn.their_state is h11.SEND_BODY:
            self._watch()

    def send_400_response(self, msg: str) -> None:
        """Answer what is no request; if it has an answer already, close the connection alone."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing more."""
        self._rest()
        self._waiting.pop(self, None)
        super().connection_lost(exc)

    def _note(self) -> None:
        """Note whether this connection waits for a request, or for the rest of one."""
        if self.conn.their_state in (h11.IDLE, h11.SEND_BODY):
            self._waiting[self] = None
        else:
            self._waiting.pop(self, None)

    def _watch(self) -> None:
        self._note()
        if self.conn.their_state is not h11.IDLE and self.conn.our_state is not h11.DONE:
            self._rest()
        elif self._late is None:
            self._late = self.loop.call_later(self._seconds, self.transport.close)

    def _rest(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class _Bounded(h11.Connection):
    """Refuses what takes long to read for its size, or could be read in two ways."""

    def __init__(self, role: type[h11.SERVER], most: int) -> None:
        super().__init__(role, most)
        self._chunks = self._size = 0
        # Whether a chunk may begin, and whether the last one has.
        self._between = self._ending = False

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """The next part of a request.

        Raises a `RemoteProtocolError` if a head, or the fields behind a body, are long or have very
        many parts, if a body has both kinds of length, or comes in tiny chunks.
        """
        if self.their_state is h11.IDLE or self._between:
            rest = self.trailing_data[0]
            self._ending |= self._between and _LAST_CHUNK.match(rest) is not None
            head = _HEAD_END.split(rest, 1)[0] if self._ending or not self._between else b""
            if len(head) > _LONGEST_HEAD or head.count(b"\n") + head.count(b"&") > _MOST_PARTS:
                raise h11.RemoteProtocolError("a head of too many parts", 431)
        event = super().next_event()
        if isinstance(event, h11.Request):
            names = {name for name, _ in event.headers}
            self._chunks = self._size = 0
            self._between = b"transfer-encoding" in names
            if names >= _BOTH_LENGTHS:
                raise h11.RemoteProtocolError("two kinds of length")
        elif isinstance(event, h11.EndOfMessage):
            self._between = self._ending = False
        elif isinstance(event, h11.Data):
            self._between = event.chunk_end
            self._chunks += event.chunk_end
            self._size += len(event.data)
            if self._chunks > _MOST_CHUNKS + self._size // _CHUNK:
                raise h11.RemoteProtocolError("a body in tiny chunks")
        return event
