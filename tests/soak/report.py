"""How the scripts tell what came of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path


def tell(report: Mapping[str, object], out: Path | None) -> None:
    """Print a report as JSON, and save it if that is wanted."""
    text = json.dumps(report, indent=1)
    print(text)  # noqa: T201
    if out:
        out.write_text(text + "\n", encoding="utf-8")
