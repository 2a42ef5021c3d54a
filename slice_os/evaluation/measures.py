"""Statistics, and measures as values: a harness has a tuple of them, so a new figure is a line."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from slice_os.arrays import Float64Array
from slice_os.errors import imported
from slice_os.evaluation.encoders.text_encoder import Cost
from slice_os.evaluation.results import Cell

RESAMPLES = 2_000
BATCH_NUMBERS = 4_000_000


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float


class Significance(NamedTuple):
    """A test of a difference: its statistic, and a two-sided p-value."""

    statistic: float
    p_value: float


def pearson(x: npt.ArrayLike, y: npt.ArrayLike, axis: int = -1) -> Float64Array:
    """Pearson's correlation along an axis; nan if either side is constant."""
    left, right = np.asarray(x, np.float64), np.asarray(y, np.float64)
    left = left - left.mean(axis=axis, keepdims=True)
    right = right - right.mean(axis=axis, keepdims=True)
    lengths = np.sqrt((left**2).sum(axis=axis) * (right**2).sum(axis=axis))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations: Float64Array = (left * right).sum(axis=axis) / lengths
    return correlations


def spearman(x: npt.ArrayLike, y: npt.ArrayLike, axis: int = -1) -> Float64Array:
    """Spearman's rank correlation, ties at their mean rank; nan if either side is constant."""
    return pearson(ranks(x, axis), ranks(y, axis), axis)


def mean_interval(values: npt.ArrayLike) -> Interval:
    """95 % bootstrap interval of a mean, such as an accuracy; see `bootstrap_interval`."""
    return bootstrap_interval(np.mean, values)


def bootstrap_interval(
    statistic: Callable[..., npt.ArrayLike],
    *samples: npt.ArrayLike,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """95 % percentile bootstrap interval of a statistic (Efron and Tibshirani 1993, section 13.3).

    The statistic takes the ``(n,)`` samples, which are resampled together, and ``axis``.
    """
    stats = _scipy_stats()
    data = [np.asarray(sample, dtype=np.float64) for sample in samples]
    if len(data[0]) < 2:
        return Interval(float("nan"), float("nan"))
    with warnings.catch_warnings():
        # A sample of few items may have no correlation; the interval is nan then.
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        result = stats.bootstrap(
            data,
            statistic,
            paired=True,
            vectorized=True,
            method="percentile",
            n_resamples=resamples,
            batch=max(1, BATCH_NUMBERS // len(data[0])),
            rng=np.random.default_rng(seed),
        )
    interval = result.confidence_interval
    return Interval(float(interval.low), float(interval.high))


def williams(r12: float, r13: float, r23: float, n: int) -> Significance:
    """Williams' test of two correlations, over n items, that share the first of three variables.

    Williams 1959; the formula as in Graham and Baldwin 2014, section 4, with n - 3 degrees of
    freedom. The statistic is t, positive if ``r12`` is greater than ``r13``.
    """
    k = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    spread = 2 * k * (n - 1) / (n - 3) + (r12 + r13) ** 2 / 4 * (1 - r23) ** 3
    if spread <= 0:
        return Significance(0.0, 1.0)
    t = (r12 - r13) * np.sqrt((n - 1) * (1 + r23) / spread)
    return Significance(float(t), float(2 * _scipy_stats().t.sf(abs(t), n - 3)))


def williams_of(gold: npt.ArrayLike, first: npt.ArrayLike, second: npt.ArrayLike) -> Significance:
    """Williams' test of which of two scores correlates better with gold; see `williams`."""
    pairs = (gold, first), (gold, second), (first, second)
    r12, r13, r23 = (float(pearson(x, y)) for x, y in pairs)
    return williams(r12, r13, r23, np.size(gold))


def paired_randomisation(first: npt.ArrayLike, second: npt.ArrayLike) -> Significance:
    """Paired randomisation test of the mean of ``first - second`` (Smucker et al. 2007)."""
    differences = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    if not differences.any():
        return Significance(0.0, 1.0)
    result = _scipy_stats().permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=9_999,
        batch=max(1, BATCH_NUMBERS // len(differences)),
        rng=np.random.default_rng(0),
    )
    return Significance(float(result.statistic), float(result.pvalue))


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for many comparisons (Holm 1979), in the order given."""
    adjusted = np.empty(len(p_values))
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(np.asarray(p_values)[order] * factors))
    return [float(value) for value in adjusted]


def paired_effect(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Cohen's d of paired values: mean difference over the deviation of differences (d_z)."""
    differences = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    deviation = differences.std(ddof=1) if len(differences) > 1 else 0.0
    if deviation == 0:
        return float(np.sign(differences.mean()) * np.inf) if differences.any() else 0.0
    return float(differences.mean() / deviation)


def ranks(values: npt.ArrayLike, axis: int = -1) -> Float64Array:
    """The rank of each value along an axis, from 1; equal ones share their mean rank."""
    numbers: Float64Array = _scipy_stats().rankdata(values, axis=axis)
    return numbers


def _scipy_stats() -> Any:
    return imported("scipy.stats", "Evaluation statistics", "eval")


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Measure(Generic[T]):
    """A column of a result: its name, its value, and its 95 % interval, if it has one."""

    name: str
    value: Callable[[T], Cell]
    interval: Callable[[T], Interval] | None = None


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
        (lambda one: mean_interval(values(one))) if interval else None,
    )


@dataclass(frozen=True, slots=True)
class Graded:
    """``(n,)`` similarities of pairs, by people and by an encoder."""

    gold: Sequence[float] | Float64Array
    scores: npt.NDArray[np.floating]


def _correlation(name: str, statistic: Callable[..., Float64Array]) -> Measure[Graded]:
    return Measure(
        name,
        lambda one: float(statistic(one.gold, one.scores)),
        lambda one: bootstrap_interval(statistic, one.gold, one.scores),
    )


CORRELATIONS = (_correlation("pearson", pearson), _correlation("spearman", spearman))

# For ``(n,)`` answers, 1 or True if right; or ``(runs, n)``, the same answers of several runs.
ACCURACY: Measure[Any] = Measure(
    "accuracy",
    lambda right: float(np.mean(right)),
    lambda right: mean_interval(np.atleast_2d(right).mean(axis=0)),
)

COST: tuple[Measure[Cost], ...] = tuple(
    Measure(name, attrgetter(name)) for name in ("passes", "tokens", "seconds")
)
