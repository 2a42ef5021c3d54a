"""Reports of a run's progress."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Tick:
    """A part of a run has moved on.

    Attributes:
        part: a stage by its name, or what comes before and after stages.
        done: how much of the total is done.
        loss: weighted loss of the step, if the part is a stage.
        seconds_left: of this part, at the pace so far; None if it is not known.
    """

    part: str
    done: int
    total: int
    loss: float | None = None
    seconds_left: float | None = None


Report: TypeAlias = Callable[[Tick], None]


def silent(tick: Tick) -> None:
    """The report that says nothing."""


def tracked(items: Collection[T], part: str, report: Report) -> Iterator[T]:
    """The same items, each reported when it is done with."""
    report(Tick(part, 0, len(items)))
    for done, item in enumerate(items, start=1):
        yield item
        report(Tick(part, done, len(items)))
