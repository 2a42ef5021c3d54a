"""Tests of the store on OpenSearch that run on Elasticsearch, too."""

from __future__ import annotations

from types import ModuleType
from typing import Any


def names_of(module: ModuleType, **left_out: str) -> dict[str, Any]:
    """Tests, and their fixtures, of a module, but for those that are left out for a reason."""
    assert left_out.keys() <= vars(module).keys()
    kept = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    return {name: value for name, value in kept.items() if name not in left_out}
