"""`slice-os data`."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
import orjson

from slice_os.cli.options import report_option
from slice_os.cli.render import wants_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slice_os.datasets.catalog import Checked


@click.group()
def data() -> None:
    """Check the data sets that recipes, harnesses and benchmarks name."""


@data.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--strict", is_flag=True, help="Missing files are errors, too.")
@report_option
def check(folder: Path, strict: bool, as_json: bool | None) -> None:
    """Check the data sets in FOLDER: what is there, what is missing, and all checksums.

    docs/data.md lists the data sets, where to get them, and the file names they go to. Exit
    status 1 if a file has other content than expected.
    """
    from slice_os.datasets.catalog import State, check

    found = list(check(folder))
    as_json = wants_json(as_json)
    click.echo(_json(folder, found) if as_json else describe(found))
    faults = {State.DIFFERENT, State.MISSING} if strict else {State.DIFFERENT}
    if any(one.state in faults for one in found):
        raise click.exceptions.Exit(1)


def describe(found: Sequence[Checked]) -> str:
    """The result as a line for each file, and totals."""
    lines = []
    for one in found:
        line = f"{one.state.value:9}  {one.path}"
        if one.state.value == "different":
            has = f"sha256 {one.found[:12]}…" if one.found else "cannot be unpacked"
            line += f": {has}, expected {one.expected[:12]}…"
        lines.append(line)
    return "\n".join([*lines, _totals(found)])


def _totals(found: Sequence[Checked]) -> str:
    counts = Counter(one.state.value for one in found)
    parts = [f"{counts[name]} {name}" for name in ("right", "missing", "different")]
    return f"{len(found)} files: {', '.join(parts)}"


def _json(folder: Path, found: Sequence[Checked]) -> str:
    counts = Counter(one.state.value for one in found)
    result = {
        "folder": str(folder),
        **{name: counts[name] for name in ("right", "missing", "different")},
        "files": [asdict(one) for one in found],
    }
    return orjson.dumps(result, option=orjson.OPT_INDENT_2).decode()
