"""Which verifier checks the hits of an encoder."""

from __future__ import annotations

from functools import cache

from slice_os.encoder import SpanEncoder
from slice_os.model import BUNDLED
from slice_os.verifier.card import DEFAULT_VERIFIER, VERIFIER_FILE, read_verifier_card
from slice_os.verifier.claims import Verifier
from slice_os.verifier.cross_encoder import CrossEncoderVerifier


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
    if verify or _fits(encoder.card.encoder_id):
        return _bundled_verifier()
    return None


@cache
def _fits(encoder_id: str) -> bool:
    folder = BUNDLED / DEFAULT_VERIFIER
    found = (folder / VERIFIER_FILE).is_file()
    return found and read_verifier_card(folder).encoder_id == encoder_id


@cache
def _bundled_verifier() -> Verifier:
    return CrossEncoderVerifier()
