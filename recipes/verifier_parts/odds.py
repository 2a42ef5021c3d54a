"""The log-odds of claims by a network, whichever it is; nothing here needs torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from slice_os.verifier.bundled import NETWORK
from slice_os.verifier.claims import Claim
from slice_os.verifier.cross_encoder import CrossEncoderVerifier
from slice_os.verifier.decision import log_odds

Reads: TypeAlias = Callable[[Sequence[Claim]], Sequence[float]]
"""The log-odds of claims by a network."""


def bundled_odds() -> Reads:
    """The bundled network, alone."""
    network = CrossEncoderVerifier(NETWORK)
    return lambda claims: [log_odds(one.probability) for one in network.check(claims)]
