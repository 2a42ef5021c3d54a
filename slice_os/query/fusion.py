"""Fusion: one score for a passage, from its span cosine and its BM25."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from slice_os.arrays import FloatArray

BM25_WEIGHT = 0.05
RANK_CONSTANT = 60


@dataclass(frozen=True, slots=True)
class Linear:
    """A sum with weights of the cosine and of BM25 relative to the best for the phrase.

    Bruch, Gai and Ingber (2023), "An Analysis of Fusion Functions for Hybrid Retrieval",
    section 4, find convex combinations better and more robust than reciprocal ranks. The
    cosine keeps its own scale, so that the scores of two phrases are comparable.
    """

    cosine: float
    bm25: float

    def __call__(self, cosines: FloatArray, bm25: FloatArray, bm25_best: float) -> FloatArray:
        """Scores of passages, ``(n_passages,)`` like their cosines and BM25, for one phrase."""
        return self.cosine * cosines + self.relative(bm25_best) * bm25

    def relative(self, bm25_best: float) -> float:
        """The weight of BM25 itself, given the highest BM25 of any passage for the phrase."""
        return self.bm25 / max(bm25_best, 1e-12)


def weighted(bm25_weight: float) -> Linear:
    """The convex combination with that weight of BM25."""
    return Linear(1 - bm25_weight, bm25_weight)


convex = weighted(BM25_WEIGHT)
cosine_only = Linear(1.0, 0.0)


def reciprocal_rank(cosines: FloatArray, bm25: FloatArray, bm25_best: float) -> FloatArray:
    """The sum of 1 / (60 + rank) over both rankings.

    Cormack, Clarke and Büttcher (2009), "Reciprocal Rank Fusion outperforms Condorcet and
    individual rank learning methods", with their constant. Passages without any term of the
    phrase have no BM25 rank. Arguments are those of `Linear`.
    """
    del bm25_best
    fused = 1 / (RANK_CONSTANT + _ranks(cosines))
    both = fused + 1 / (RANK_CONSTANT + _ranks(bm25))
    return np.where(bm25 > 0, both, fused).astype(np.float32)


Fusion: TypeAlias = Callable[[FloatArray, FloatArray, float], FloatArray]
"""Cosines and BM25 of one phrase, and the best BM25, to scores; see `Linear`."""


def _ranks(values: FloatArray) -> FloatArray:
    """Rank of each value from 1, the highest first; equal ones by position."""
    ranks = np.empty(len(values), dtype=np.float32)
    ranks[np.argsort(-values, kind="stable")] = np.arange(1, len(values) + 1)
    return ranks
