"""Thresholds that turn similarities into yes or no, fitted on a training set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slice_os.evaluation.stats import Labels, Numbers


def best_threshold(scores: Numbers, labels: Labels) -> float:
    """The threshold that classifies these examples best.

    As in PiC (section 5.1), every score is tried; a pair is similar if its score is at least the
    threshold. The lowest of equally good thresholds wins.

    Args:
        scores: ``(n,)`` similarities.
        labels: ``(n,)`` whether each is similar.

    Raises:
        ValueError: on no examples.
    """
    values, inverse = np.unique(scores, return_inverse=True)
    positive = np.bincount(inverse, weights=labels, minlength=len(values))
    negative = np.bincount(inverse, weights=~labels, minlength=len(values))
    right = np.cumsum(negative) - negative + positive[::-1].cumsum()[::-1]
    return float(values[np.argmax(right)])


@dataclass(frozen=True, slots=True)
class Discriminant:
    """A linear function of a score, above 0 for "similar".

    Attributes:
        slope: of the score.
        offset: its value at score 0.
    """

    slope: float
    offset: float

    @property
    def threshold(self) -> float:
        """The score at which it changes sign; nan if it never does."""
        return -self.offset / self.slope if self.slope else float("nan")

    def predict(self, scores: Numbers) -> Labels:
        """Whether each is similar, ``(n,)``."""
        return self.slope * np.asarray(scores, dtype=np.float64) + self.offset >= 0


def fit_discriminant(scores: Numbers, labels: Labels) -> Discriminant:
    """The linear discriminant of one score, PCPE's "simple linear discriminative model".

    Both classes are assumed to be normal with one variance (its maximum-likelihood estimate),
    and as frequent as in the examples (Hastie, Tibshirani and Friedman 2009, section 4.3).

    Args:
        scores: ``(n,)`` similarities, of both classes.
        labels: ``(n,)`` whether each is similar.
    """
    positive, negative = (scores[side].astype(np.float64) for side in (labels, ~labels))
    gap = float(positive.mean() - negative.mean())
    deviations = np.concatenate([positive - positive.mean(), negative - negative.mean()])
    variance = float(deviations @ deviations) / len(scores)
    slope = gap / variance if variance else 0.0
    middle = float(positive.mean() + negative.mean()) / 2
    return Discriminant(slope, float(np.log(len(positive) / len(negative))) - slope * middle)
