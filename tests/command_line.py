"""What a command did, and how tests run commands in their own process."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
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


def printed(command: str | Sequence[str | Path], **options: Any) -> str:
    """What a command prints in its own process; the options are those of ``subprocess.run``."""
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}\n{done.stdout[-20_000:]}\n{done.stderr}"
    return str(done.stdout)
