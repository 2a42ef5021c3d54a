"""What the scripts may be told, and how they tell what came of them."""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def options(doc: str) -> argparse.ArgumentParser:
    """A parser of options for the script with this docstring."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--out", type=Path, help="file for the report")
    return parser


def saved(out: Path | None) -> dict[str, Any]:
    """The report that is there already."""
    return json.loads(out.read_text()) if out and out.exists() else {}


def tell(report: Mapping[str, object], out: Path | None, failed: object = False) -> None:
    """Print a report as JSON, and save it if that is wanted; end with status 1 if it failed."""
    text = json.dumps(report, indent=1)
    print(text)  # noqa: T201
    if out:
        out.write_text(text + "\n", encoding="utf-8")
    if failed:
        raise SystemExit(1)


@contextmanager
def noted(ends: Counter[str], bad: list[str], what: str) -> Iterator[None]:
    """Count an error among the ends, and say what it was of; go on."""
    try:
        yield
    except Exception as error:
        ends["bad"] += 1
        bad.append(f"{what}: {place(error)}"[:600])
        print(bad[-1], file=sys.stderr, flush=True)  # noqa: T201


def place(error: BaseException) -> str:
    """An error, and the line of code that raised it."""
    at = traceback.extract_tb(error.__traceback__)[-1]
    return f"{error!r} at {Path(at.filename).name}:{at.lineno}: {at.line}"
