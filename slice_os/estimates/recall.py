"""Estimates of what a topic finds and misses, from a stratified sample of all passages.

The intervals are those that Webber recommends for sampled recall: in each stratum, the number of
right passages that nobody has labelled is beta-binomial, with half a right and half a wrong one as
prior, and quantities of several strata are simulated from these (W. Webber, "Approximate recall
confidence intervals", ACM Transactions on Information Systems 31(1), 2013). Half a right one is too
many for a large stratum where almost nothing is right, so an interval also spans that of a prior
with a twentieth of a right one; simulated coverage is in tests/test_recall.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_DRAWS = 20_000
_PRIORS = (0.5, 0.05)
_TAIL = 2.5
LEAST = 5

Totals = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Stratum:
    """Passages with much the same score, and what is known of them.

    Attributes:
        least: every passage in it has at least this score.
        passages: number of them.
        labelled: number of those in the sample that have a label.
        right: number of right ones among these.
    """

    least: float
    passages: int
    labelled: int = 0
    right: int = 0


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, value: float, drawn: Sequence[Totals]) -> Interval:
        """The interval that spans those of one or more simulations, and the estimate itself."""
        lows, highs = np.nanpercentile(drawn, [_TAIL, 100 - _TAIL], axis=1)
        return cls(value, min(value, float(lows.min())), max(value, float(highs.max())))

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True, slots=True)
class CutEstimate:
    """A cut, with what it finds and misses.

    Attributes:
        least: score from which passages are found.
        found: number of these passages.
        precision: share of right ones among the found passages.
        recall: share of found ones among the right passages.
        elusion: share of right ones among the passages that are not found.
    """

    least: float
    found: int
    precision: Interval
    recall: Interval
    elusion: Interval


@dataclass(frozen=True, slots=True)
class TopicEstimate:
    """An estimate of how often a topic is said, and of what each cut finds of that.

    Attributes:
        passages: number of all passages.
        labels: number of labelled passages of the sample.
        richness: share of right ones among all passages.
        cut: what the topic's own cut finds and misses.
        curve: the same of every cut between strata, the highest first.
    """

    passages: int
    labels: int
    richness: Interval
    cut: CutEstimate
    curve: tuple[CutEstimate, ...]

    def least_cut(self, precision: float) -> CutEstimate | None:
        """The lowest cut that surely has a precision: the lower end of its interval has."""
        enough = (one for one in self.curve[::-1] if one.precision.low >= precision)
        return next(enough, None)

    @property
    def labels_to_halve(self) -> int:
        """The number of labels that, added, make intervals half as wide: three times as many."""
        return 3 * self.labels


def estimate(strata: Sequence[Stratum], cut: float, seed: int = 0) -> TopicEstimate:
    """The estimates of a topic.

    Args:
        strata: by falling score; one begins at the cut.
        cut: score from which the topic has hits.
        seed: of the simulation.
    """
    drawn = [_drawn(strata, prior, seed) for prior in _PRIORS]
    # Half of a stratum without a label is right.
    shares = [one.right / one.labelled if one.labelled else _PRIORS[0] for one in strata]
    plain = np.array([[one.passages * share] for one, share in zip(strata, shares, strict=True)])
    sizes = np.array([[one.passages] for one in strata], dtype=np.float64)

    def interval(of: Callable[[Totals, Totals], Totals]) -> Interval:
        value = float(np.nan_to_num(of(plain, sizes))[0])
        return Interval.of(value, [np.nan_to_num(of(one, sizes)) for one in drawn])

    def at(number: int) -> CutEstimate:
        above = slice(0, number + 1)
        below = slice(number + 1, None)
        return CutEstimate(
            strata[number].least,
            int(sizes[above].sum()),
            interval(lambda right, of: _ratio(right[above].sum(0), of[above].sum(0))),
            interval(lambda right, of: _ratio(right[above].sum(0), right.sum(0))),
            interval(lambda right, of: _ratio(right[below].sum(0), of[below].sum(0))),
        )

    curve = tuple(at(number) for number in range(len(strata)))
    return TopicEstimate(
        int(sizes.sum()),
        sum(one.labelled for one in strata),
        interval(lambda right, of: _ratio(right.sum(0), of.sum(0))),
        # Scores are in single precision, so that one at the cut may seem to lie below it.
        next((one for one in curve[::-1] if np.float32(one.least) >= np.float32(cut)), curve[0]),
        curve,
    )


def allocated(sizes: Sequence[int], guesses: Sequence[float], labels: int) -> list[int]:
    """The number of passages of each stratum to label, by Neyman's allocation in whole numbers.

    T. Wright, "The equivalence of Neyman optimum allocation for sampling and equal proportions for
    apportioning the U.S. House of Representatives", The American Statistician 66(4), 2012.

    Args:
        sizes: passages of the strata.
        guesses: the share of right ones that is expected in each.
        labels: number of labels in all, or all passages if these are fewer. Each stratum has five
            of them, or less where there are too few for that.
    """
    if labels >= sum(sizes):
        return list(sizes)
    least = max(1, min(LEAST, labels // max(1, len(sizes))))
    given = [min(size, least) for size in sizes]
    spread = [size * (one * (1 - one)) ** 0.5 for size, one in zip(sizes, guesses, strict=True)]
    for _ in range(labels - sum(given)):
        open_ = [number for number, size in enumerate(sizes) if given[number] < size]
        chosen = max(open_, key=lambda n: spread[n] / (given[n] * (given[n] + 1)) ** 0.5)
        given[chosen] += 1
    return given


def _drawn(strata: Sequence[Stratum], prior: float, seed: int) -> Totals:
    """``(n, draws)`` numbers of right passages."""
    random = np.random.default_rng(seed)
    rows = []
    for one in strata:
        wrong = one.labelled - one.right
        shares = random.beta(one.right + prior, wrong + _PRIORS[0], _DRAWS)
        rows.append(one.right + random.binomial(one.passages - one.labelled, shares))
    return np.array(rows, dtype=np.float64)


def _ratio(part: Totals, whole: Totals) -> Totals:
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio: Totals = part / whole
    return ratio
