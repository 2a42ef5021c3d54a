"""The result of a check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Check:
    """The result of a check.

    Attributes:
        name: such as ``cpu``.
        finding: the result in one line.
        usable: False if something that was requested does not work.
        facts: the result as plain values.
    """

    name: str
    finding: str
    usable: bool = True
    facts: Mapping[str, Any] = field(default_factory=dict)
