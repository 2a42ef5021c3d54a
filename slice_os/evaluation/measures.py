"""Measures as values: a harness has a tuple of them, so a new figure is a line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from slice_os.evaluation import stats
from slice_os.evaluation.results import Cell

if TYPE_CHECKING:
    from slice_os.evaluation.encoders.text_encoder import Cost

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Measure(Generic[T]):
    """A column of a result: its name, its value, and its 95 % interval, if it has one."""

    name: str
    value: Callable[[T], Cell]
    interval: Callable[[T], stats.Interval] | None = None


def measured(measures: Iterable[Measure[T]], observed: T) -> dict[str, Cell]:
    """The cells of a row: the value of each measure, and the ends of its interval."""
    cells: dict[str, Cell] = {}
    for measure in measures:
        cells[measure.name] = measure.value(observed)
        if measure.interval is not None:
            interval = measure.interval(observed)
            cells[f"{measure.name}_low"] = interval.low
            cells[f"{measure.name}_high"] = interval.high
    return cells


def averaged(name: str, values: Callable[[T], npt.ArrayLike], interval: bool = False) -> Measure[T]:
    """The measure that is a mean of values, with its interval if requested."""
    return Measure(
        name,
        lambda one: float(np.asarray(values(one)).mean()),
        (lambda one: stats.mean_interval(values(one))) if interval else None,
    )


@dataclass(frozen=True, slots=True)
class Graded:
    """``(n,)`` similarities of pairs, by people and by an encoder."""

    gold: Sequence[float]
    scores: npt.NDArray[np.floating]


def _correlation(
    name: str, value: Callable[..., float], interval: Callable[..., stats.Interval]
) -> Measure[Graded]:
    return Measure(
        name,
        lambda one: value(one.gold, one.scores),
        lambda one: interval(one.gold, one.scores),
    )


CORRELATIONS: tuple[Measure[Graded], ...] = (
    _correlation("pearson", stats.pearson, stats.pearson_interval),
    _correlation("spearman", stats.spearman, stats.spearman_interval),
)

# For ``(n,)`` answers, 1 or True if right; or ``(runs, n)``, the same answers of several runs.
ACCURACY: Measure[Any] = Measure(
    "accuracy",
    lambda right: float(np.mean(right)),
    lambda right: stats.mean_interval(np.atleast_2d(right).mean(axis=0)),
)

COST: tuple[Measure[Cost], ...] = (
    Measure("passes", lambda cost: cost.passes),
    Measure("tokens", lambda cost: cost.tokens),
    Measure("seconds", lambda cost: cost.seconds),
)
