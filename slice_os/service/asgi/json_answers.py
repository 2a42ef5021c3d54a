"""Answers as JSON, without checking again what the library made."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import orjson
from starlette.responses import Response, StreamingResponse
from starlette.types import Send


class JsonAnswer(Response):
    """Plain JSON types and arrays of numbers, written as they are."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The bytes of the answer."""
        return orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)


class JsonLines(StreamingResponse):
    """JSON lines, as they come.

    Args:
        lines: is closed if its reader goes away.
    """

    media_type = "application/x-ndjson"

    def __init__(self, lines: AsyncGenerator[bytes, None]) -> None:
        super().__init__(lines)
        self._lines = lines

    async def stream_response(self, send: Send) -> None:
        """Send the lines."""
        async with aclosing(self._lines):
            await super().stream_response(send)


def json_line(content: dict[str, Any]) -> bytes:
    """Plain JSON types as one line."""
    return orjson.dumps(content, option=orjson.OPT_APPEND_NEWLINE)
