"""Counter-phrases: wordings of what sounds alike but is something else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slice_os.arrays import FloatArray
from slice_os.encoder import SpanEncoder
from slice_os.query import Query


def countered_query(query: Query, encoder: SpanEncoder, counter_phrases: Sequence[str]) -> Query:
    """The query without hits whose words are nearer to a counter-phrase than to every phrase.

    Raises:
        InputError: if a counter-phrase has no word.
    """
    if not counter_phrases:
        return query
    return replace(query, counters=encoder.encode_phrases(counter_phrases))


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
