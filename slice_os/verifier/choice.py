"""Which verifier checks the hits of an encoder."""

from __future__ import annotations

from functools import cache, lru_cache

from slice_os.encoder import SpanEncoder
from slice_os.errors import ModelError
from slice_os.verifier.claims import Verifier
from slice_os.verifier.combined import COMBINATION, Combination, read_combination
from slice_os.verifier.opening import COMBINED, open_verifier


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
        ModelError: if there is no bundled verifier, but verifying is wanted.
    """
    if verify is False:
        return None
    if verifier is not None:
        return verifier
    combination = _combination()
    if combination is None:
        if verify:
            raise ModelError("no verifier is bundled; give one, or do not verify")
        return None
    if verify is None and combination.encoder_id != encoder.card.encoder_id:
        return None
    return _bundled(encoder)


@cache
def _combination() -> Combination | None:
    return read_combination() if COMBINATION.is_file() else None


@lru_cache(maxsize=2)
def _bundled(encoder: SpanEncoder) -> Verifier:
    return open_verifier(COMBINED, encoder)
