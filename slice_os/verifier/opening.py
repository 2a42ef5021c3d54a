"""Verifiers by name."""

from __future__ import annotations

from slice_os.encoder import SpanEncoder
from slice_os.verifier.claims import Verifier
from slice_os.verifier.cross_encoder import CrossEncoderVerifier
from slice_os.verifier.wording.alignment import AlignmentVerifier

ALIGNMENT = "alignment"


def open_verifier(name: str, encoder: SpanEncoder) -> Verifier:
    """A verifier: ``alignment``, the name of a bundled one, or a folder.

    Args:
        name: which.
        encoder: whose hits are to be verified; ``alignment`` reads with it.

    Raises:
        ModelError: if there is none of that name, or it belongs to another encoder.
    """
    if name == ALIGNMENT:
        return AlignmentVerifier(encoder)
    return CrossEncoderVerifier(name)
