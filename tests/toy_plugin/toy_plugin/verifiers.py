"""A verifier: what asks does not say."""

from __future__ import annotations

from collections.abc import Sequence

from slice_os import Claim, SpanEncoder, Verdict


class Careful:
    """Doubts questions; a setting is the probability of everything else."""

    def __init__(self, encoder: SpanEncoder, sure: str = "0.9") -> None:
        self._sure = float(sure)

    def check(self, claims: Sequence[Claim]) -> list[Verdict]:
        """A verdict for each claim."""
        return [
            Verdict(0.1, ("asks",)) if "?" in claim.text else Verdict(self._sure)
            for claim in claims
        ]
