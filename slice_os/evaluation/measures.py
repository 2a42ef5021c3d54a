"""Statistics, and measures as values: a harness has a tuple of them, so a new figure is a line."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from slice_os.errors import imported
from slice_os.evaluation.results import Cell

Numbers: TypeAlias = npt.NDArray[np.float64]
Labels: TypeAlias = npt.NDArray[np.bool_]

RESAMPLES = 2_000
BATCH_NUMBERS = 4_000_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Significance:
    """A test of a difference: its statistic, and a two-sided p-value."""

    statistic: float
    p_value: float


def pearson(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Pearson's correlation; nan if either side is constant."""
    return float(_pearson(np.asarray(x, np.float64), np.asarray(y, np.float64), axis=-1))


def spearman(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Spearman's rank correlation, ties at their mean rank; nan if either side is constant."""
    return float(_spearman(np.asarray(x, np.float64), np.asarray(y, np.float64), axis=-1))


def _pearson(x: Numbers, y: Numbers, axis: int) -> Numbers:
    x = x - x.mean(axis=axis, keepdims=True)
    y = y - y.mean(axis=axis, keepdims=True)
    lengths = np.sqrt((x**2).sum(axis=axis) * (y**2).sum(axis=axis))
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations: Numbers = (x * y).sum(axis=axis) / lengths
    return correlations


def _spearman(x: Numbers, y: Numbers, axis: int) -> Numbers:
    stats = _scipy_stats()
    return _pearson(stats.rankdata(x, axis=axis), stats.rankdata(y, axis=axis), axis)


def pearson_interval(x: npt.ArrayLike, y: npt.ArrayLike, seed: int = 0) -> Interval:
    """95 % bootstrap interval of Pearson's correlation; see `bootstrap_interval`."""
    return bootstrap_interval(_pearson, x, y, seed=seed)


def spearman_interval(x: npt.ArrayLike, y: npt.ArrayLike, seed: int = 0) -> Interval:
    """95 % bootstrap interval of Spearman's correlation; see `bootstrap_interval`."""
    return bootstrap_interval(_spearman, x, y, seed=seed)


def mean_interval(values: npt.ArrayLike, seed: int = 0) -> Interval:
    """95 % bootstrap interval of a mean, such as an accuracy; see `bootstrap_interval`."""
    return bootstrap_interval(np.mean, values, seed=seed)


def bootstrap_interval(
    statistic: Callable[..., npt.ArrayLike],
    *samples: npt.ArrayLike,
    confidence: float = 0.95,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Percentile bootstrap interval of a statistic (Efron and Tibshirani 1993, section 13.3).

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
            confidence_level=confidence,
            n_resamples=resamples,
            batch=max(1, BATCH_NUMBERS // len(data[0])),
            rng=np.random.default_rng(seed),
        )
    interval = result.confidence_interval
    return Interval(float(interval.low), float(interval.high))


def williams(r12: float, r13: float, r23: float, n: int) -> Significance:
    """Williams' test of two correlations that share a variable.

    Williams 1959; the formula as in Graham and Baldwin 2014, section 4, with n - 3 degrees of
    freedom.

    Args:
        r12: correlation of the shared variable, such as gold scores, with the first other one.
        r13: its correlation with the second other one.
        r23: correlation of the two others.
        n: number of items.

    Returns:
        t, positive if ``r12`` is greater, and its p-value.
    """
    k = 1 - r12**2 - r13**2 - r23**2 + 2 * r12 * r13 * r23
    spread = 2 * k * (n - 1) / (n - 3) + (r12 + r13) ** 2 / 4 * (1 - r23) ** 3
    if spread <= 0:
        return Significance(0.0, 1.0)
    t = (r12 - r13) * np.sqrt((n - 1) * (1 + r23) / spread)
    return Significance(float(t), float(2 * _scipy_stats().t.sf(abs(t), n - 3)))


def williams_of(gold: npt.ArrayLike, first: npt.ArrayLike, second: npt.ArrayLike) -> Significance:
    """Williams' test of which of two scores correlates better with gold; see `williams`."""
    return williams(
        pearson(gold, first), pearson(gold, second), pearson(first, second), np.size(gold)
    )


def paired_randomisation(
    first: npt.ArrayLike, second: npt.ArrayLike, resamples: int = 9_999, seed: int = 0
) -> Significance:
    """Paired randomisation test of the mean of ``first - second`` (Smucker et al. 2007)."""
    differences = np.asarray(first, np.float64) - np.asarray(second, np.float64)
    if not differences.any():
        return Significance(0.0, 1.0)
    result = _scipy_stats().permutation_test(
        (differences,),
        np.mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=resamples,
        batch=max(1, BATCH_NUMBERS // len(differences)),
        rng=np.random.default_rng(seed),
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


def mean_reciprocal_rank(ranks: Sequence[int | None], cutoff: int | None = None) -> float:
    """Mean of 1 / rank, from 1, of right answers (Voorhees 1999); 0 for none within the cutoff."""
    values = [
        0.0 if rank is None or (cutoff is not None and rank > cutoff) else 1 / rank
        for rank in ranks
    ]
    return float(np.mean(values)) if values else float("nan")


def ranks(values: npt.ArrayLike) -> Numbers:
    """The rank of each value, from 1; equal ones share their mean rank."""
    numbers: Numbers = _scipy_stats().rankdata(values)
    return numbers


def _scipy_stats() -> Any:
    return imported("scipy.stats", "Evaluation statistics", "eval")


if TYPE_CHECKING:
    from slice_os.evaluation.encoders.text_encoder import Cost

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

    gold: Sequence[float]
    scores: npt.NDArray[np.floating]


def _correlation(
    name: str, value: Callable[..., float], interval: Callable[..., Interval]
) -> Measure[Graded]:
    return Measure(
        name,
        lambda one: value(one.gold, one.scores),
        lambda one: interval(one.gold, one.scores),
    )


CORRELATIONS: tuple[Measure[Graded], ...] = (
    _correlation("pearson", pearson, pearson_interval),
    _correlation("spearman", spearman, spearman_interval),
)

# For ``(n,)`` answers, 1 or True if right; or ``(runs, n)``, the same answers of several runs.
ACCURACY: Measure[Any] = Measure(
    "accuracy",
    lambda right: float(np.mean(right)),
    lambda right: mean_interval(np.atleast_2d(right).mean(axis=0)),
)

COST: tuple[Measure[Cost], ...] = (
    Measure("passes", lambda cost: cost.passes),
    Measure("tokens", lambda cost: cost.tokens),
    Measure("seconds", lambda cost: cost.seconds),
)
