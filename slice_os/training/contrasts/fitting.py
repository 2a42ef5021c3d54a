"""Fitting the alignment verifier: a small network over how the wording of two texts compares."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from slice_os.arrays import Float64Array, FloatArray
from slice_os.encoder import SpanEncoder
from slice_os.errors import MissingExtraError
from slice_os.training.contrasts.rows import ContrastRow
from slice_os.verifier.claims import claim_in
from slice_os.verifier.wording.alignment import AlignmentWeights
from slice_os.verifier.wording.comparison import FEATURES, compare_wording
from slice_os.verifier.wording.reading import ClaimReader

_BATCH = 64


def features_of(
    encoder: SpanEncoder,
    rows: Sequence[ContrastRow],
    report: Callable[[int], None] = lambda done: None,
) -> FloatArray:
    """``(n_rows, n_features)`` comparisons of the wording of phrases and spans.

    Args:
        encoder: gives the vectors of words.
        rows: phrases and spans.
        report: called with the number of rows done.
    """
    found = []
    reader = ClaimReader(encoder)
    for start in range(0, len(rows), _BATCH):
        claims = [
            claim_in(row.phrase, row.text, row.start, row.end)
            for row in rows[start : start + _BATCH]
        ]
        found += [compare_wording(one).features for one in reader.read(claims)]
        report(len(found))
    return np.array(found)


def fit_alignment(
    features: FloatArray,
    says: Sequence[bool],
    encoder_id: str,
    provenance: str,
    *,
    hidden: int = 8,
    penalty: float = 1e-3,
    steps: int = 300,
    seed: int = 1,
) -> AlignmentWeights:
    """Fit the network by maximum likelihood.

    Args:
        features: ``(n_rows, n_features)``.
        says: whether each span says its phrase.
        encoder_id: the encoder that the features come from.
        provenance: what the rows are, for people.
        hidden: size of the hidden layer.
        penalty: of squared weights.
        steps: most steps of the optimizer.
        seed: of the first weights.

    Raises:
        MissingExtraError: without SciPy.
    """
    try:
        from scipy.optimize import minimize
    except ImportError:
        raise MissingExtraError("fitting a verifier", "train") from None
    labels = np.array(says, dtype=np.float64)
    mean, scale = features.mean(axis=0), np.maximum(features.std(axis=0), 0.05)
    scaled = np.hstack([(features - mean) / scale, np.ones((len(features), 1))])
    scaled = np.clip(scaled, -10, 10).astype(np.float32)
    width = scaled.shape[1]
    first = np.random.default_rng(seed).normal(0, width**-0.5, hidden * width + hidden + 1)

    def loss(weights: Float64Array) -> tuple[float, Float64Array]:
        inner, outer = weights[: hidden * width].reshape(hidden, width), weights[hidden * width :]
        active = np.tanh(scaled @ inner.T.astype(np.float32))
        odds = active @ outer[:-1] + outer[-1]
        wrong = (1 / (1 + np.exp(-odds)) - labels) / len(labels)
        back = (wrong[:, None] * outer[:-1] * (1 - active**2)).astype(np.float32)
        gradient = np.concatenate([(back.T @ scaled).ravel(), active.T @ wrong, [wrong.sum()]])
        value = np.mean(np.logaddexp(0, odds) - labels * odds) + penalty * (weights @ weights) / 2
        return float(value), gradient + penalty * weights

    best = minimize(loss, first, jac=True, method="L-BFGS-B", options={"maxiter": steps}).x
    inner, outer = best[: hidden * width].reshape(hidden, width), best[hidden * width :]
    return AlignmentWeights(
        encoder_id,
        FEATURES,
        _rounded(mean),
        _rounded(scale),
        tuple(_rounded(row) for row in inner),
        _rounded(outer),
        provenance,
    )


def _rounded(values: npt.ArrayLike) -> tuple[float, ...]:
    return tuple(round(float(value), 5) for value in np.asarray(values))
