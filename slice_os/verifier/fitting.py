"""Fitting the combination of verifiers and cosine to labelled hits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from slice_os.arrays import Float64Array
from slice_os.errors import InputError, MissingExtraError
from slice_os.verifier.combined import Combination, logit

FEW_LABELS = 10


def fit_combination(
    parts: Sequence[str],
    said: npt.ArrayLike,
    priors: npt.ArrayLike,
    right: npt.ArrayLike,
    *,
    encoder_id: str,
    fitted_on: str,
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
    intercept, *weights, prior_weight = _logistic(np.column_stack([odds, prior]), targets)
    alone_intercept, *alone_weights = _logistic(odds, targets)
    return Combination(
        encoder_id=encoder_id,
        parts=tuple(parts),
        intercept=intercept,
        weights=tuple(weights),
        prior=prior_weight,
        alone_intercept=alone_intercept,
        alone_weights=tuple(alone_weights),
        hits=len(labels),
        fitted_on=fitted_on,
    )


def _logistic(features: Float64Array, targets: Float64Array) -> list[float]:
    """A constant, and weights that are not negative, rounded to six decimals."""
    try:
        from scipy.optimize import minimize
    except ImportError:
        raise MissingExtraError("fitting a verifier", "eval") from None
    columns = np.column_stack([np.ones(len(targets)), features])

    def loss(weights: Float64Array) -> tuple[float, Float64Array]:
        total = columns @ weights
        gradient: Float64Array = columns.T @ (1 / (1 + np.exp(-total)) - targets) / len(targets)
        return float(np.mean(np.logaddexp(0, total) - targets * total)), gradient

    bounds = [(None, None), *[(0, None)] * features.shape[1]]
    start = np.zeros(columns.shape[1])
    best = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x
    return [round(float(weight), 6) for weight in best]
