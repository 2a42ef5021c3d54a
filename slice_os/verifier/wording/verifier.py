"""The bundled verifier: two small maps over how the words of a phrase and a hit match."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import InputError, ModelError
from slice_os.verifier.claims import Claim, Verdict
from slice_os.verifier.wording.comparison import compare_wording
from slice_os.verifier.wording.reading import ClaimReader
from slice_os.verifier.wording.weights import WordingWeights, logistic, read_weights

AGREEMENT = "agreement"
_SURE = 0.5


class WordingVerifier:
    """Estimates the probability that a hit says its phrase, with reasons against it.

    A hit says its phrase if its wording says nothing else, and if it is about the same. The
    probability is the product of these two, so no cosine makes up for a denial.

    Args:
        encoder: gives the vectors of words; the bundled weights were fitted to slice-mini.
        weights: of both maps; the bundled ones for None.
        about: whether the hit must also be about the same; otherwise only its wording counts.

    Raises:
        ModelError: if the weights belong to another encoder, or it has no calibration.
    """

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
        compared = [compare_wording(one) for one in readings]
        features = np.array([one.features for one in compared])
        agreement = likely = logistic(self._weights.agreement(features))
        if self._about:
            priors = [one.prior for one in readings]
            likely = agreement * logistic(self._weights.aboutness(features, priors))
        return [
            Verdict(probability, one.reasons if agrees < _SURE else ())
            for probability, agrees, one in zip(
                likely.tolist(), agreement.tolist(), compared, strict=True
            )
        ]


def open_wording(encoder: SpanEncoder, part: str = "") -> WordingVerifier:
    """The bundled verifier, for `slice_os.verifier.registry`.

    Args:
        encoder: makes the hits.
        part: ``agreement`` to ask only whether the wording says anything else; empty for all.

    Raises:
        InputError: on another part.
        ModelError: as `WordingVerifier`.
    """
    if part not in ("", AGREEMENT):
        raise InputError(f"verifier 'wording:{part}': 'wording:{AGREEMENT}' is the only part")
    return WordingVerifier(encoder, about=not part)
