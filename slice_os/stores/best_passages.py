"""The best passages of a search, scored by a store."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.query.options import SearchOptions
from slice_os.stores.candidates import StoredPassage


@dataclass(frozen=True, slots=True)
class ScoredPassage:
    """A passage that a store scored for a phrase.

    Attributes:
        row: the phrase's row in the query.
        passage: with its token vectors, so that hits can be placed in it.
        bm25: of the passage for the phrase.
        score: BM25 and the best cosine, fused.
    """

    row: int
    passage: StoredPassage
    bm25: float
    score: float


@dataclass(frozen=True, slots=True)
class BestPassages:
    """The passages with the best scores, as many as a search requests.

    Attributes:
        passages: by falling score.
        exhaustive: whether every passage was scored, not only those that an index proposed.
    """

    passages: tuple[ScoredPassage, ...]
    exhaustive: bool


def best_columns(
    scores: FloatArray, cosines: FloatArray, wanted: SearchOptions
) -> list[tuple[int, int]]:
    """Row and column of the best score of each requested passage.

    A passage has the score of the phrase that is best in it; equal scores are ordered by column.

    Args:
        scores: ``(n_phrases, n_passages)``; ``-inf`` for passages to leave out.
        cosines: ``(n_phrases, n_passages)``.
        wanted: how many passages, from which on, and from which cosine.
    """
    if wanted.threshold is not None:
        scores = np.where(cosines >= wanted.threshold, scores, -np.inf)
    best = scores.max(axis=0, initial=-np.inf)
    order = np.argsort(-best, kind="stable")[wanted.offset : wanted.end]
    columns = order[np.isfinite(best[order])].tolist()
    return [(int(scores[:, column].argmax()), column) for column in columns]
