"""Fitting the alignment verifier to labelled hits and to contrasts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from slice_os.arrays import Float64Array, FloatArray
from slice_os.encoder.calibration import softened
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import imported
from slice_os.verifier.claims import Claim
from slice_os.verifier.wording.comparison import FEATURES, compare_wording
from slice_os.verifier.wording.reading import ClaimReader
from slice_os.verifier.wording.verifier import (
    WordingWeights,
    about_columns,
    logistic,
    scaled_features,
)

_BATCH = 64
_LEAST = 1e-9
_LEAST_SCALE = 0.05


@dataclass(frozen=True, slots=True)
class ComparedClaims:
    """Claims whose wording is compared, and whether they hold.

    Attributes:
        features: ``(n, n_features)``.
        priors: ``(n,)`` probabilities that the cosines give.
        right: ``(n,)`` 1 if the words say their phrase, else 0.
    """

    features: FloatArray
    priors: Float64Array
    right: Float64Array


def compared(
    encoder: SpanEncoder,
    claims: Iterable[tuple[Claim, bool]],
    report: Callable[[int], None] = lambda done: None,
) -> ComparedClaims:
    """Compare the wording of claims, given whether they hold; the encoder needs a calibration."""
    features, priors, right = [], [], []
    reader = ClaimReader(encoder)
    rest = iter(claims)
    while some := list(islice(rest, _BATCH)):
        for reading in reader.read([claim for claim, _ in some]):
            features.append(compare_wording(reading).features)
            priors.append(reading.prior)
        right += [holds for _, holds in some]
        report(len(right))
    return ComparedClaims(np.array(features), np.array(priors), np.array(right, dtype=np.float64))


def fit_alignment(
    hits: Sequence[ComparedClaims],
    contrasts: ComparedClaims,
    encoder_id: str,
    provenance: str,
    *,
    hidden: int = 8,
    penalty: float = 1e-3,
    about_penalty: float = 1e-2,
    steps: int = 300,
    seed: int = 1,
) -> WordingWeights:
    """Fit both maps at once, by maximum likelihood.

    Their product is fitted to each set of labelled hits and to the contrasts, which differ in what
    their wording says; all sets count the same, and labels are `softened`. The first map is fitted
    to the contrasts by itself, too, so that it learns what wording says and leaves the rest to the
    second one. Penalties are of squared weights of the first and of the second map.

    Raises:
        InputError: if a set has fewer than 10 claims that hold, or that do not.
        MissingExtraError: without SciPy.
    """
    minimize = imported("scipy.optimize", "fitting a verifier", "train").minimize
    sets = [*hits, contrasts]
    features = np.vstack([one.features for one in sets])
    mean = contrasts.features.mean(axis=0)
    scale = np.maximum(contrasts.features.std(axis=0), _LEAST_SCALE)
    scaled = scaled_features(features, mean, scale)
    right = np.concatenate([one.right for one in sets])
    targets = np.concatenate([softened(one.right) for one in sets])
    share = np.concatenate([np.full(len(one.right), 1 / len(one.right)) for one in sets])
    share /= len(sets)
    n_hits = len(right) - len(contrasts.right)
    only = np.repeat([0.0, 1 / len(contrasts.right)], [n_hits, len(contrasts.right)])
    about = about_columns(scaled, np.concatenate([one.priors for one in sets]))
    model = _Product(np.column_stack([scaled, np.ones(len(right))]), about, hidden)
    penalties = np.concatenate(
        [np.full(model.n_first, penalty), np.full(about.shape[1] - 2, about_penalty), [0, 0]]
    )

    def loss(weights: Float64Array) -> tuple[float, Float64Array]:
        active, agrees, about = model.odds(weights)
        one, other = logistic(agrees), logistic(about)
        both = np.clip(one * other, _LEAST, 1 - _LEAST)
        value = -(share * (targets * np.log(both) + (1 - targets) * np.log(1 - both))).sum()
        value += (only * (np.logaddexp(0, agrees) - right * agrees)).sum()
        slope = share * ((1 - targets) * both / (1 - both) - targets)
        gradient = model.gradient(
            weights, active, slope * (1 - one) + only * (one - right), slope * (1 - other)
        )
        return float(value + (penalties * weights**2).sum() / 2), gradient + penalties * weights

    best = minimize(
        loss, model.start(seed), jac=True, bounds=model.bounds(), method="L-BFGS-B",
        options={"maxiter": steps},
    ).x  # fmt: skip
    inner, output, about = model.parts(best)
    return WordingWeights(
        encoder_id,
        FEATURES,
        _rounded(mean),
        _rounded(scale),
        tuple(_rounded(row) for row in inner),
        _rounded(output),
        _rounded(about),
        provenance,
    )


@dataclass(frozen=True, slots=True)
class _Product:
    """A network of one hidden layer, and a linear map, of the same claims.

    Attributes:
        first: ``(n, n_features + 1)`` inputs of the network.
        second: ``(n, n_similarities + 2)`` inputs of the linear map; the last two are the log-odds
            that the cosine gives, and ones.
    """

    first: Float64Array
    second: Float64Array
    hidden: int

    @property
    def n_first(self) -> int:
        """The number of weights of the network."""
        return self.hidden * int(self.first.shape[1]) + self.hidden + 1

    def start(self, seed: int) -> Float64Array:
        """Weights to begin with."""
        drawn = np.random.default_rng(seed).normal(0, self.first.shape[1] ** -0.5, self.n_first)
        return np.concatenate([drawn, np.zeros(self.second.shape[1] - 2), [0.5, 1.0]])

    def bounds(self) -> list[tuple[float | None, float | None]]:
        """No probability falls because the cosine gives a higher one."""
        free: tuple[float | None, float | None] = (None, None)
        return [*[free] * (self.n_first + self.second.shape[1] - 2), (0, None), free]

    def parts(self, weights: Float64Array) -> tuple[Float64Array, Float64Array, Float64Array]:
        """Weights of the hidden layer, of its output, and of the linear map."""
        n_inner = self.hidden * self.first.shape[1]
        inner = weights[:n_inner].reshape(self.hidden, -1)
        return inner, weights[n_inner : self.n_first], weights[self.n_first :]

    def odds(self, weights: Float64Array) -> tuple[Float64Array, Float64Array, Float64Array]:
        """``(n, hidden)`` what the hidden layer gives, and the log-odds of both."""
        inner, output, about = self.parts(weights)
        active = np.tanh(self.first @ inner.T)
        return active, active @ output[:-1] + output[-1], self.second @ about

    def gradient(
        self, weights: Float64Array, active: Float64Array, first: Float64Array, second: Float64Array
    ) -> Float64Array:
        """That of all weights, from the hidden layer and the gradients of both log-odds."""
        output = self.parts(weights)[1]
        back = first[:, None] * output[:-1] * (1 - active**2)
        return np.concatenate(
            [(back.T @ self.first).ravel(), active.T @ first, [first.sum()], self.second.T @ second]
        )


def _rounded(values: npt.ArrayLike) -> tuple[float, ...]:
    return tuple(round(float(value), 5) for value in np.asarray(values))
