"""Versioned OpenSearch index templates, as package data."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import orjson


def load_template(version: int) -> dict[str, Any]:
    """The composable index template of a schema version; a new object on every call."""
    raw = (files(__name__) / f"passages-v{version}.json").read_bytes()
    template: dict[str, Any] = orjson.loads(raw)
    return template
