"""How the scripts tell what came of them."""

from __future__ import annotations

import json
import traceback
from collections.abc import Mapping
from pathlib import Path


def tell(report: Mapping[str, object], out: Path | None, failed: object = False) -> None:
    """Print a report as JSON, and save it if that is wanted; end with status 1 if it failed."""
    text = json.dumps(report, indent=1)
    print(text)  # noqa: T201
    if out:
        out.write_text(text + "\n", encoding="utf-8")
    if failed:
        raise SystemExit(1)


def place(error: BaseException) -> str:
    """An error, and the line of code that raised it."""
    at = traceback.extract_tb(error.__traceback__)[-1]
    return f"{error!r} at {Path(at.filename).name}:{at.lineno}: {at.line}"
