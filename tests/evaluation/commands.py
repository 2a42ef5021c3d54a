"""Harnesses through the command line."""

from __future__ import annotations

import json
from typing import Any

from click.testing import CliRunner

from slice_os.cli import cli


def run_harness(name: str, *arguments: object) -> dict[str, Any]:
    """What ``slice-os eval NAME … --json`` prints; its error, where it has one, is raised."""
    command = ["eval", name, "--json", "--no-cache", "--threads", "2", *map(str, arguments)]
    outcome = CliRunner().invoke(cli, command, standalone_mode=False)
    if outcome.exception is not None:
        raise outcome.exception
    result: dict[str, Any] = json.loads(outcome.stdout)
    return result
