"""Connections whose requests do not begin: they are closed, whoever opened them."""

from __future__ import annotations

from asyncio import TimerHandle, Transport
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


class PromptProtocol(H11Protocol):
    """HTTP/1.1 that closes a connection if the headers of a request are not there in time.

    uvicorn limits the time between two requests alone. Whoever opened connections and sent
    nothing, or half a header, would keep them for good, without a key.

    Args:
        seconds: from the connection, or from the first byte of a further request.
        given: what uvicorn gives.
    """

    def __init__(self, seconds: float, **given: Any) -> None:
        super().__init__(**given)
        self._seconds = seconds
        self._late: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Expect a request."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing more."""
        self._rest()
        super().connection_lost(exc)

    def _watch(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._rest()
        elif self._late is None:
            self._late = self.loop.call_later(self._seconds, self.transport.close)

    def _rest(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None
