"""Answers as JSON, without validating the library's own values."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import orjson
from starlette.responses import Response, StreamingResponse
from starlette.types import Send


class JsonAnswer(Response):
    """An answer of plain JSON types and arrays of numbers."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Encode the answer."""
        return orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)


class JsonLines(StreamingResponse):
    """An answer of JSON lines, as they come; they are closed if the reader disconnects."""

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
