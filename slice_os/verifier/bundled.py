"""The bundled verifier: rules on wording and a network that reads, decided together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import exp, log
from pathlib import Path

from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.text.documents import ENGLISH
from slice_os.verifier.claims import Claim, Verdict, Verdicts
from slice_os.verifier.cross_encoder import CrossEncoderVerifier
from slice_os.verifier.wording.verifier import WordingVerifier

NETWORK = Path(__file__).parents[1] / "models" / "slice-verify"
"""The network's folder, which recipes/verifier.py makes."""

# Weights of the log-odds of the network and of the wording, and a constant: logistic regression on
# labelled hits and on written contrasts (benchmarks/verifier_calibration.py).
WEIGHTS = (0.37, 0.53, -0.14)
_NEAREST, _LIKELY = 1e-4, 0.5


class BundledVerifier:
    """Compares wordings as `WordingVerifier` does, and reads phrase and hit side by side.

    Raises a `ModelError` as `WordingVerifier`.
    """

    language = ENGLISH

    def __init__(self, encoder: SpanEncoder) -> None:
        self._wording = WordingVerifier(encoder)
        self._network = CrossEncoderVerifier(NETWORK)

    def check(self, claims: Sequence[Claim]) -> list[Verdict]:
        """A verdict for each claim, with evidence for and against; none depends on the others."""
        return list(self.begin(claims)())

    def begin(self, claims: Sequence[Claim]) -> Verdicts:
        """As `check`, but returns while the network reads; call the result for the verdicts."""
        verdicts = self._network.begin(claims)
        said = self._wording.check(claims)
        return lambda: [together(*both) for both in zip(verdicts(), said, strict=True)]

    def estimate(self, claims: Sequence[Claim]) -> list[float]:
        """The probabilities by the wording alone, which costs a tenth."""
        return [said.probability for said in self._wording.check(claims)]


def together(read: Verdict, said: Verdict) -> Verdict:
    """The verdict by the network's and the wording's.

    Evidence against is the wording's, if neither the network nor both together hold the hit likely.
    """
    network, wording, constant = WEIGHTS
    odds = network * log_odds(read.probability) + wording * log_odds(said.probability) + constant
    against = odds < 0 and read.probability < _LIKELY
    return replace(said, probability=1 / (1 + exp(-odds)), reasons=said.reasons if against else ())


def log_odds(probability: float) -> float:
    """Of a probability, taken for no nearer to 0 or 1 than 0.0001."""
    kept = max(_NEAREST, min(1 - _NEAREST, probability))
    return log(kept / (1 - kept))
