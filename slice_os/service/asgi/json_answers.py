"""Answers as JSON, without validating the library's own values."""

from __future__ import annotations

from typing import Any

import orjson
from starlette.responses import Response


class JsonAnswer(Response):
    """An answer of plain JSON types and arrays of numbers."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Encode the answer."""
        return orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)
