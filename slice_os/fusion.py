"""Fusion: one score for a passage, from its span cosine and its BM25."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from slice_os.arrays import FloatArray

BM25_WEIGHT = 0.15
RANK_CONSTANT = 60


def convex(
    cosines: FloatArray, bm25: FloatArray, bm25_best: float, weight: float = BM25_WEIGHT
) -> FloatArray:
    """A weighted mean of the cosine and of BM25 relative to the best for the phrase.

    Bruch, Gai and Ingber (2023), "An Analysis of Fusion Functions for Hybrid Retrieval",
    section 4, find convex combinations better and more robust than reciprocal ranks. The
    cosine keeps its own scale, so that the scores of two phrases are comparable.

    Args:
        cosines: ``(n_passages,)`` of one phrase.
        bm25: ``(n_passages,)`` of the same phrase.
        bm25_best: the highest BM25 of any passage for the phrase.
        weight: of BM25.
    """
    relative = bm25 / max(bm25_best, 1e-12)
    fused: FloatArray = (1 - weight) * cosines + weight * relative
    return fused


def reciprocal_rank(cosines: FloatArray, bm25: FloatArray, bm25_best: float) -> FloatArray:
    """The sum of 1 / (60 + rank) over both rankings.

    Cormack, Clarke and Büttcher (2009), "Reciprocal Rank Fusion outperforms Condorcet and
    individual rank learning methods", with their constant. Passages without any term of the
    phrase have no BM25 rank. Arguments are those of `convex`.
    """
    del bm25_best
    fused = 1 / (RANK_CONSTANT + _ranks(cosines))
    both = fused + 1 / (RANK_CONSTANT + _ranks(bm25))
    return np.where(bm25 > 0, both, fused).astype(np.float32)


def cosine_only(cosines: FloatArray, bm25: FloatArray, bm25_best: float) -> FloatArray:
    """The cosine alone; hits still report their BM25. Arguments are those of `convex`."""
    del bm25, bm25_best
    return cosines


Fusion: TypeAlias = Callable[[FloatArray, FloatArray, float], FloatArray]
"""Cosines and BM25 of one phrase, and the best BM25, to scores; see `convex`."""


def _ranks(values: FloatArray) -> FloatArray:
    """Rank of each value from 1, the highest first; equal ones by position."""
    ranks = np.empty(len(values), dtype=np.float32)
    ranks[np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
    return ranks
