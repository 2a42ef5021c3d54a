"""Verifiers by name."""

from __future__ import annotations

from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.verifier.claims import Verifier
from slice_os.verifier.cross_encoder import CrossEncoderVerifier
from slice_os.verifier.wording.matches import AlignmentVerifier

ALIGNMENT, COMBINED = "alignment", "combined"


def open_verifier(name: str, encoder: SpanEncoder) -> Verifier:
    """A verifier: ``alignment``, ``combined``, the name of a bundled one, or a folder.

    ``combined`` is what searches use by default; ``alignment`` only its part that asks whether the
    wording says anything else.

    Args:
        name: which.
        encoder: whose hits are to be verified; the first two read with it.

    Raises:
        ModelError: if there is none of that name, or it belongs to another encoder.
    """
    if name == ALIGNMENT:
        return AlignmentVerifier(encoder, about=False)
    if name == COMBINED:
        return AlignmentVerifier(encoder)
    return CrossEncoderVerifier(name)
