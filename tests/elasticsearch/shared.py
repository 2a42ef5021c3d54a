"""Tests of the store on OpenSearch that run on Elasticsearch, too."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def taken(module: str, *names: str) -> dict[str, Any]:
    """Some tests or fixtures of a module."""
    found = import_module(f"tests.{module}")
    return {name: getattr(found, name) for name in names}


def names_of(module: str, **left_out: str) -> dict[str, Any]:
    """Tests, and their fixtures, of a module, but for those that are left out for a reason."""
    names = vars(import_module(f"tests.{module}"))
    assert left_out.keys() <= names.keys()
    kept = {name: value for name, value in names.items() if not name.startswith("_")}
    return {name: value for name, value in kept.items() if name not in left_out}
