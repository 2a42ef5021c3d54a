"""Exact scores of one passage at hand, from its token vectors."""

from __future__ import annotations

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.passages import EncodedPassage
from slice_os.query import Query
from slice_os.spans import ScoredSpan, select_spans, span_cosines, span_norms
from slice_os.threads import one_blas_thread


@one_blas_thread()
def best_cosines(passage: EncodedPassage, query: Query) -> FloatArray:
    """The best cosine of each phrase over all spans of a passage.

    Returns:
        ``(n_phrases,)``.
    """
    norms = span_norms(passage.vectors, passage.layout, query.max_words)
    products = passage.vectors @ query.phrases.vectors.T
    best = [
        span_cosines(column, passage.layout, norms)[:, query.min_words - 1 :].max()
        for column in products.T
    ]
    return np.array(best, dtype=np.float32)


@one_blas_thread()
def best_spans(
    passage: EncodedPassage,
    query: Query,
    row: int,
    threshold: float = -1.0,
    limit: int | None = None,
) -> list[ScoredSpan]:
    """The best non-overlapping spans of a passage for the phrase in that row of the query."""
    norms = span_norms(passage.vectors, passage.layout, query.max_words)
    products: FloatArray = passage.vectors @ query.phrases.vectors[row]
    cosines = span_cosines(products, passage.layout, norms)
    return select_spans(cosines, threshold, limit, query.min_words)
