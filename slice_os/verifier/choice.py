"""Which verifier checks the hits of an encoder."""

from __future__ import annotations

from functools import cache, lru_cache

from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.verifier.claims import Verifier
from slice_os.verifier.opening import COMBINED, open_verifier
from slice_os.verifier.wording.weights import read_weights


def chosen_verifier(
    verify: bool | None, verifier: Verifier | None, encoder: SpanEncoder
) -> Verifier | None:
    """The verifier to use, if any.

    Args:
        verify: whether to verify; None to do so with a verifier that is given, or with the
            bundled one if it was fitted to the hits of this encoder.
        verifier: the one that is given; None for the bundled one.
        encoder: what makes the hits.

    Raises:
        ModelError: if the bundled one is wanted, but belongs to another encoder.
    """
    if verify is False:
        return None
    if verifier is not None:
        return verifier
    if verify is None and _fitted_to() != encoder.card.encoder_id:
        return None
    return _bundled(encoder)


@cache
def _fitted_to() -> str:
    return read_weights().encoder_id


@lru_cache(maxsize=2)
def _bundled(encoder: SpanEncoder) -> Verifier:
    return open_verifier(COMBINED, encoder)
