"""The bundled verifier: two small maps over how the words of a phrase and a hit match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from slice_os.arrays import Float64Array, FloatArray
from slice_os.encoder.model_folder import check_size, read_json
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import InputError, ModelError
from slice_os.text.documents import ENGLISH
from slice_os.threads import checkpoint
from slice_os.verifier.claims import Claim, Verdict
from slice_os.verifier.wording.comparison import FEATURES, SIMILARITIES, compare_wording
from slice_os.verifier.wording.reading import ClaimReader

WEIGHTS = Path(__file__).with_name("weights.json")
_FARTHEST = 10.0
_NEAREST = 1e-6


@dataclass(frozen=True, slots=True)
class WordingWeights:
    """Two maps of a comparison to log-odds: that it says nothing else, and is about the same.

    Attributes:
        encoder_id: the encoder whose vectors the features come from.
        mean: ``(n_features,)`` subtracted first.
        scale: ``(n_features,)`` divided by next; then cut to 10 either way.
        hidden: ``(n_hidden, n_features + 1)`` weights and, last, the constants; then tanh.
        output: ``(n_hidden + 1,)`` weights of the log-odds of the first map; last, the constant.
        about: ``(n_similarities + 2,)`` weights of the second one: of the similarities, which are
            the first features, of the log-odds that the cosine gives, and, last, the constant.
        provenance: what they were fitted to, for people.
    """

    encoder_id: str
    features: tuple[str, ...]
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    hidden: tuple[tuple[float, ...], ...]
    output: tuple[float, ...]
    about: tuple[float, ...]
    provenance: str

    def agreement(self, features: FloatArray) -> Float64Array:
        """``(n,)`` log-odds that wordings say nothing else, of ``(n, n_features)``."""
        scaled = scaled_features(features, self.mean, self.scale)
        hidden, output = np.array(self.hidden), np.array(self.output)
        # Sums, not matrix products, so that no row depends on how many there are.
        inner = np.tanh((scaled[:, None] * hidden[:, :-1]).sum(axis=2) + hidden[:, -1])
        odds: Float64Array = (inner * output[:-1]).sum(axis=1) + output[-1]
        return odds

    def aboutness(self, features: FloatArray, priors: npt.ArrayLike) -> Float64Array:
        """``(n,)`` log-odds that they are about the same, of ``(n,)`` priors by the cosine, too."""
        columns = about_columns(scaled_features(features, self.mean, self.scale), priors)
        odds: Float64Array = (columns * np.array(self.about)).sum(axis=1)
        return odds


def scaled_features(
    features: FloatArray, mean: npt.ArrayLike, scale: npt.ArrayLike
) -> Float64Array:
    """Features of mean 0 and deviation 1 where they were fitted, none far beyond."""
    scaled = (features.astype(np.float64) - np.asarray(mean)) / np.asarray(scale)
    cut: Float64Array = np.clip(scaled, -_FARTHEST, _FARTHEST)
    return cut


def about_columns(scaled: Float64Array, priors: npt.ArrayLike) -> Float64Array:
    """``(n, n_similarities + 2)`` scaled similarities, log-odds of the priors, and ones."""
    kept = np.clip(np.asarray(priors, dtype=np.float64), _NEAREST, 1 - _NEAREST)
    odds = np.log(kept / (1 - kept))
    return np.column_stack([scaled[:, : len(SIMILARITIES)], odds, np.ones(len(kept))])


def logistic(odds: Float64Array) -> Float64Array:
    """Probabilities of log-odds."""
    found: Float64Array = 1 / (1 + np.exp(-np.clip(odds, -50, 50)))
    return found


def read_weights(path: Path = WEIGHTS) -> WordingWeights:
    """Read weights; without a path, the bundled ones.

    Raises a `ModelError` if the file is missing or holds something else.
    """
    check_size(path)
    raw = read_json(path)
    try:
        weights = WordingWeights(**raw)
    except TypeError:
        raise ModelError(f"{path}: not the weights of a wording verifier") from None
    n_features = len(FEATURES)
    if (
        tuple(weights.features) != FEATURES
        or np.shape(weights.mean) != (n_features,)
        or np.shape(weights.scale) != (n_features,)
        or np.shape(weights.hidden) != (len(weights.output) - 1, n_features + 1)
        or np.shape(weights.about) != (len(SIMILARITIES) + 2,)
    ):
        raise ModelError(f"{path}: made for other features; train the verifier again")
    return weights


AGREEMENT = "agreement"
# Of 807 right hits over 13 kinds of text, 31 would get reasons from .4 down; from here down 12 do.
_AGREES = 0.2


class WordingVerifier:
    """Estimates the probability that a hit says its phrase, with reasons against it.

    A hit says its phrase if its wording says nothing else, and if it is about the same. The
    probability is the product of these two, so no cosine makes up for a denial.

    Args:
        encoder: gives the vectors of words; the bundled weights were fitted to slice-mini.
        weights: of both maps; the bundled ones for None.
        about: whether the hit must also be about the same; otherwise only its wording counts.

    Raises a `ModelError` if the weights belong to another encoder, or it has no calibration.
    """

    language = ENGLISH

    def __init__(
        self, encoder: SpanEncoder, weights: WordingWeights | None = None, *, about: bool = True
    ) -> None:
        self._reader = ClaimReader(encoder)
        self._weights = weights or read_weights()
        self._about = about
        if self._weights.encoder_id != encoder.card.encoder_id:
            raise ModelError(
                f"the wording verifier belongs to encoder {self._weights.encoder_id}, not "
                f"{encoder.card.encoder_id}; train it again"
            )
        if about and encoder.calibration is None:
            raise ModelError(
                f"{encoder.folder} has no calibration; fit one with `slice-os eval calibration`"
            )

    def check(self, claims: Sequence[Claim]) -> list[Verdict]:
        """A verdict for each claim, with reasons; none depends on the others."""
        if not claims:
            return []
        readings = self._reader.read(claims)
        compared = []
        for one in readings:
            checkpoint()
            compared.append(compare_wording(one))
        features = np.array([one.features for one in compared])
        agreement = likely = logistic(self._weights.agreement(features))
        if self._about:
            priors = [one.prior for one in readings]
            likely = agreement * logistic(self._weights.aboutness(features, priors))
        return [
            Verdict(probability, one.reasons if agrees < _AGREES else (), one.matches)
            for probability, agrees, one in zip(
                likely.tolist(), agreement.tolist(), compared, strict=True
            )
        ]


def open_wording(encoder: SpanEncoder, part: str = "") -> WordingVerifier:
    """The bundled verifier; part ``agreement`` asks only whether the wording says anything else.

    Raises an `InputError` on another part, and a `ModelError` as `WordingVerifier`.
    """
    if part not in ("", AGREEMENT):
        raise InputError(f"verifier 'wording:{part}': 'wording:{AGREEMENT}' is the only part")
    return WordingVerifier(encoder, about=not part)
