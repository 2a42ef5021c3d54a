"""One thing that was checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked.

    Attributes:
        name: what was checked, such as ``cpu``.
        finding: what was found, as one line.
        usable: False if something that was asked for does not work.
        facts: the same as plain values.
    """

    name: str
    finding: str
    usable: bool = True
    facts: Mapping[str, Any] = field(default_factory=dict)
