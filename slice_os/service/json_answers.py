"""Answers as JSON, without checking again what the library made."""

from __future__ import annotations

from typing import Any

import orjson
from starlette.responses import Response


class JsonAnswer(Response):
    """Plain JSON types, written as they are."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """The bytes of the answer."""
        return orjson.dumps(content)
