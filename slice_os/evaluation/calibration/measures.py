"""How far probabilities can be trusted: reliability, expected calibration error and Brier score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slice_os.evaluation.measures import Measure
from slice_os.evaluation.stats import Numbers, mean_interval

BINS = 10


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Probabilities of hits, and whether the hits were right.

    Attributes:
        probabilities: ``(n,)``.
        right: ``(n,)`` 1 for a hit that is right, else 0.
    """

    probabilities: Numbers
    right: Numbers


@dataclass(frozen=True, slots=True)
class Bin:
    """Hits of similar probability: their number, mean probability, and the share that is right."""

    hits: int
    probability: float
    right: float


def reliability(probabilities: Numbers, right: Numbers) -> list[Bin]:
    """Bins of equal width, without the empty ones (Guo et al. 2017, section 2).

    Args:
        probabilities: ``(n,)``.
        right: ``(n,)`` 1 for a hit that is right, else 0.
    """
    numbers = np.minimum((probabilities * BINS).astype(int), BINS - 1)
    parts = [np.flatnonzero(numbers == number) for number in np.unique(numbers)]
    return [
        Bin(len(part), float(probabilities[part].mean()), float(right[part].mean()))
        for part in parts
    ]


def expected_calibration_error(probabilities: Numbers, right: Numbers) -> float:
    """Mean gap between probability and share right over the bins (Guo et al. 2017, equation 3)."""
    bins = reliability(probabilities, right)
    return sum(one.hits * abs(one.probability - one.right) for one in bins) / max(len(right), 1)


def brier_score(probabilities: Numbers, right: Numbers) -> float:
    """Mean squared difference of probability and outcome (Brier 1950), of one class of two."""
    return float(np.mean((probabilities - right) ** 2))


MEASURES: tuple[Measure[Outcomes], ...] = (
    Measure("hits", lambda one: len(one.right)),
    Measure("right", lambda one: float(one.right.mean())),
    Measure("mean", lambda one: float(one.probabilities.mean())),
    Measure("ece", lambda one: expected_calibration_error(one.probabilities, one.right)),
    Measure(
        "brier",
        lambda one: brier_score(one.probabilities, one.right),
        lambda one: mean_interval((one.probabilities - one.right) ** 2),
    ),
    Measure("brier_of_base_rate", lambda one: float(one.right.mean() * (1 - one.right.mean()))),
)
