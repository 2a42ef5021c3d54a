"""What a command did, and how tests run commands in their own process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import orjson


class Outcome(NamedTuple):
    """The exit status of a command, and what it wrote."""

    status: int
    out: str
    err: str

    def rows(self) -> list[dict[str, Any]]:
        """Its lines of JSON."""
        return [orjson.loads(line) for line in self.out.splitlines()]

    def json(self) -> Any:
        """Its output, if that is one JSON value."""
        return orjson.loads(self.out)


Run = Callable[..., Outcome]
