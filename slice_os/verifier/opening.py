"""Verifiers by name."""

from __future__ import annotations

from slice_os.encoder import SpanEncoder
from slice_os.verifier.claims import Verifier
from slice_os.verifier.combined import CombinedVerifier, read_combination
from slice_os.verifier.cross_encoder import CrossEncoderVerifier
from slice_os.verifier.wording.alignment import AlignmentVerifier

ALIGNMENT, COMBINED = "alignment", "combined"


def open_verifier(name: str, encoder: SpanEncoder) -> Verifier:
    """A verifier: ``alignment``, ``combined``, the name of a bundled one, or a folder.

    ``combined`` is what searches use by default: all that are bundled, and the cosine.

    Args:
        name: which.
        encoder: whose hits are to be verified; ``alignment`` reads with it.

    Raises:
        ModelError: if there is none of that name, or it belongs to another encoder.
    """
    if name == ALIGNMENT:
        return AlignmentVerifier(encoder)
    if name == COMBINED:
        combination = read_combination()
        parts = {part: open_verifier(part, encoder) for part in combination.parts}
        return CombinedVerifier(parts, combination)
    return CrossEncoderVerifier(name)
