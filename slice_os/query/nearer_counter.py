"""Counter-phrases: wordings of what sounds alike but is something else."""

from __future__ import annotations

from slice_os.arrays import FloatArray


def nearer_counter(phrases: FloatArray, counters: FloatArray) -> int | None:
    """The counter-phrase that words are nearest to.

    Args:
        phrases: ``(n,)`` products of the words' vector with those of the phrases.
        counters: ``(m,)`` products with those of the counter-phrases.

    Returns:
        Its number; None if a phrase is at least as near.
    """
    nearest = int(counters.argmax())
    return nearest if counters[nearest] > phrases.max() else None
