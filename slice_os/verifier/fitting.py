"""Fitting a verifier's probabilities to labelled hits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from slice_os.arrays import Float64Array
from slice_os.errors import InputError, MissingExtraError
from slice_os.verifier.card import VerifierCard, logit

FEW_LABELS = 10


def fit_card(
    card: VerifierCard,
    log_odds: npt.ArrayLike,
    priors: npt.ArrayLike,
    right: npt.ArrayLike,
    *,
    encoder_id: str,
    fitted_on: str,
) -> VerifierCard:
    """The card with weights that are most likely for labelled hits, with and without the prior.

    Args:
        card: of the verifier.
        log_odds: ``(n,)`` of its model.
        priors: ``(n,)`` probabilities that the cosines give.
        right: ``(n,)`` whether the hit says its phrase.
        encoder_id: the encoder that made the hits.
        fitted_on: what the hits are, for people.

    Raises:
        InputError: if fewer than 10 hits are right, or fewer than 10 are wrong.
        MissingExtraError: without SciPy.
    """
    labels = np.asarray(right, dtype=bool)
    if min(labels.sum(), (~labels).sum()) < FEW_LABELS:
        raise InputError(f"label {FEW_LABELS} or more hits that are right, and as many wrong ones")
    odds = np.asarray(log_odds, dtype=np.float64)
    prior = np.array([logit(one) for one in np.asarray(priors, dtype=np.float64)])
    ones = np.ones_like(odds)
    both = _logistic(np.stack([ones, odds, prior], axis=1), labels)
    alone = _logistic(np.stack([ones, odds], axis=1), labels)
    return replace(
        card,
        encoder_id=encoder_id,
        intercept=both[0],
        odds=both[1],
        prior=both[2],
        alone_intercept=alone[0],
        alone_odds=alone[1],
        hits=len(labels),
        fitted_on=fitted_on,
    )


def _logistic(features: Float64Array, labels: npt.NDArray[np.bool_]) -> list[float]:
    """Weights of a logistic regression, none negative but the first, rounded to six decimals."""
    try:
        from scipy.optimize import minimize
    except ImportError:
        raise MissingExtraError("fitting a verifier", "eval") from None

    def loss(weights: Float64Array) -> tuple[float, Float64Array]:
        total = features @ weights
        gradient: Float64Array = features.T @ (1 / (1 + np.exp(-total)) - labels) / len(labels)
        return float(np.mean(np.logaddexp(0, total) - labels * total)), gradient

    bounds: list[Any] = [(None, None), *[(0, None)] * (features.shape[1] - 1)]
    best = minimize(loss, np.zeros(features.shape[1]), jac=True, bounds=bounds, method="L-BFGS-B").x
    return [round(float(weight), 6) for weight in best]
