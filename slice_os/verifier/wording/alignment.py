"""The alignment verifier: a small model over how the words of a phrase and a hit match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import orjson

from slice_os.arrays import Float64Array, FloatArray
from slice_os.encoder import SpanEncoder
from slice_os.errors import ModelError
from slice_os.model import check_size, read_json
from slice_os.verifier.claims import Claim, Verdict
from slice_os.verifier.wording.comparison import FEATURES, compare_wording
from slice_os.verifier.wording.reading import ClaimReader

WEIGHTS = Path(__file__).with_name("weights.json")
_SURE = 0.5


@dataclass(frozen=True, slots=True)
class AlignmentWeights:
    """A network of one hidden layer over the features of a comparison.

    Attributes:
        encoder_id: the encoder whose vectors the features come from.
        features: their names.
        mean: ``(n_features,)`` subtracted first.
        scale: ``(n_features,)`` divided by next.
        hidden: ``(n_hidden, n_features + 1)`` weights and, last, the constants; then tanh.
        output: ``(n_hidden + 1)`` weights of the log-odds and, last, the constant.
        provenance: what it was trained on, for people.
    """

    encoder_id: str
    features: tuple[str, ...]
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    hidden: tuple[tuple[float, ...], ...]
    output: tuple[float, ...]
    provenance: str

    def log_odds(self, features: FloatArray) -> Float64Array:
        """``(n,)`` log-odds of ``(n, n_features)``."""
        scaled = (features.astype(np.float64) - np.array(self.mean)) / np.array(self.scale)
        hidden, output = np.array(self.hidden), np.array(self.output)
        # Sums, not matrix products, so that no row depends on how many there are.
        inner = np.tanh((scaled[:, None] * hidden[:, :-1]).sum(axis=2) + hidden[:, -1])
        odds: Float64Array = (inner * output[:-1]).sum(axis=1) + output[-1]
        return odds

    def save(self, path: Path) -> None:
        """Write the weights as JSON."""
        path.write_bytes(orjson.dumps(asdict(self), option=orjson.OPT_APPEND_NEWLINE))


def read_weights(path: Path = WEIGHTS) -> AlignmentWeights:
    """Read weights; without a path, the bundled ones.

    Raises:
        ModelError: if the file is missing or holds something else.
    """
    check_size(path)
    raw = read_json(path)
    try:
        weights = AlignmentWeights(**raw)
    except TypeError:
        raise ModelError(f"{path}: not the weights of an alignment verifier") from None
    n_features = len(weights.features)
    shape = np.shape(weights.hidden)
    if (
        tuple(weights.features) != FEATURES
        or len(weights.mean) != n_features
        or len(weights.scale) != n_features
        or shape != (len(weights.output) - 1, n_features + 1)
    ):
        raise ModelError(f"{path}: made for other features; train the verifier again")
    return weights


class AlignmentVerifier:
    """Says how likely a hit says its phrase, by what their wording says differently, and why.

    Args:
        encoder: gives the vectors of words; the bundled weights were trained with slice-mini.
        weights: of the network; the bundled ones for None.

    Raises:
        ModelError: if the weights belong to another encoder.
    """

    def __init__(self, encoder: SpanEncoder, weights: AlignmentWeights | None = None) -> None:
        self._reader = ClaimReader(encoder)
        self._weights = weights or read_weights()
        if self._weights.encoder_id != encoder.card.encoder_id:
            raise ModelError(
                f"the alignment verifier belongs to encoder {self._weights.encoder_id}, not "
                f"{encoder.card.encoder_id}; train it again"
            )

    def check(self, claims: Sequence[Claim]) -> list[Verdict]:
        """A verdict for each claim, with what speaks against it; none depends on the others."""
        if not claims:
            return []
        compared = [compare_wording(one) for one in self._reader.read(claims)]
        odds = self._weights.log_odds(np.array([one.features for one in compared]))
        likely = 1 / (1 + np.exp(-np.clip(odds, -50, 50)))
        return [
            Verdict(float(probability), one.reasons if probability < _SURE else ())
            for probability, one in zip(likely.tolist(), compared, strict=True)
        ]
