"""Fitting the combination of verifiers and cosine to labelled hits."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from slice_os.arrays import Float64Array
from slice_os.errors import InputError, MissingExtraError
from slice_os.verifier.combined import Combination, logit

FEW_LABELS = 10
_LEAST = 1e-9


def fit_combination(
    parts: Sequence[str],
    said: npt.ArrayLike,
    priors: npt.ArrayLike,
    right: npt.ArrayLike,
    *,
    encoder_id: str,
    fitted_on: str,
    counts: npt.ArrayLike | None = None,
) -> Combination:
    """The weights that are most likely for labelled hits, with and without the prior.

    Labels are softened as in Platt (1999, section 2.2), so that hits that can be separated
    without error do not lead to infinite weights.

    Args:
        parts: names of the verifiers.
        said: ``(n, n_parts)`` the probability that each gives to each hit.
        priors: ``(n,)`` probabilities that the cosines give.
        right: ``(n,)`` whether the hit says its phrase.
        encoder_id: the encoder that made the hits.
        fitted_on: what the hits are, for people.
        counts: ``(n,)`` how much each hit counts; all the same for None.

    Raises:
        InputError: if fewer than 10 hits are right, or fewer than 10 are wrong.
        MissingExtraError: without SciPy.
    """
    labels = np.asarray(right, dtype=bool)
    n_right, n_wrong = int(labels.sum()), int((~labels).sum())
    if min(n_right, n_wrong) < FEW_LABELS:
        raise InputError(f"label {FEW_LABELS} or more hits that are right, and as many wrong ones")
    targets = np.where(labels, (n_right + 1) / (n_right + 2), 1 / (n_wrong + 2))
    odds = np.vectorize(logit)(np.asarray(said, dtype=np.float64)).reshape(len(labels), len(parts))
    prior = np.vectorize(logit)(np.asarray(priors, dtype=np.float64))
    share = np.ones(len(labels)) if counts is None else np.asarray(counts, dtype=np.float64)
    share = share / share.sum()
    wording, about = _product(odds, prior[:, None], targets, share)
    alone_intercept, *alone_weights = _logistic(odds, targets, share)
    return Combination(
        encoder_id=encoder_id,
        parts=tuple(parts),
        intercept=wording[0],
        weights=tuple(wording[1:]),
        prior_intercept=about[0],
        prior=about[1],
        alone_intercept=alone_intercept,
        alone_weights=tuple(alone_weights),
        hits=len(labels),
        fitted_on=fitted_on,
    )


def _product(
    first: Float64Array, second: Float64Array, targets: Float64Array, share: Float64Array
) -> tuple[list[float], list[float]]:
    """Of two logistic maps whose product is the probability, the constant and weights of each."""
    ones = np.ones((len(targets), 1))
    left, right = np.hstack([ones, first]), np.hstack([ones, second])
    n_left = left.shape[1]

    def loss(weights: Float64Array) -> tuple[float, Float64Array]:
        a, b = left @ weights[:n_left], right @ weights[n_left:]
        one, other = 1 / (1 + np.exp(-a)), 1 / (1 + np.exp(-b))
        both = np.clip(one * other, _LEAST, 1 - _LEAST)
        value = -(share * (targets * np.log(both) + (1 - targets) * np.log(1 - both))).sum()
        slope = share * ((1 - targets) * both / (1 - both) - targets)
        gradient = np.concatenate([left.T @ (slope * (1 - one)), right.T @ (slope * (1 - other))])
        return float(value), gradient

    bounds = [(None, None), *[(0, None)] * first.shape[1], (None, None), (0, None)]
    found = _minimum(loss, np.ones(n_left + right.shape[1]), bounds)
    return found[:n_left], found[n_left:]


def _logistic(features: Float64Array, targets: Float64Array, share: Float64Array) -> list[float]:
    """A constant, and weights that are not negative."""
    columns = np.column_stack([np.ones(len(targets)), features])

    def loss(weights: Float64Array) -> tuple[float, Float64Array]:
        total = columns @ weights
        gradient: Float64Array = columns.T @ (share * (1 / (1 + np.exp(-total)) - targets))
        return float((share * (np.logaddexp(0, total) - targets * total)).sum()), gradient

    bounds = [(None, None), *[(0, None)] * features.shape[1]]
    return _minimum(loss, np.zeros(columns.shape[1]), bounds)


def _minimum(
    loss: Callable[[Float64Array], tuple[float, Float64Array]],
    start: Float64Array,
    bounds: Sequence[tuple[float | None, float | None]],
) -> list[float]:
    """The weights with the least loss, rounded to six decimals."""
    try:
        from scipy.optimize import minimize
    except ImportError:
        raise MissingExtraError("fitting a verifier", "eval") from None
    best = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x
    return [round(float(weight), 6) for weight in best]
