"""Pages of a search: what is requested, and what a store that scores by itself returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.documents import Metadata
from slice_os.results import Context
from slice_os.search_options import DEFAULT_FUSION, NUM_CANDIDATES


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which hits of a search are requested.

    Attributes:
        top_k: number of hits.
        offset: hits to skip.
        threshold: least cosine of a hit; None for any.
        fusion: how cosine and BM25 make a score; see `slice_os.search_options.FUSION_NAMES`.
        num_candidates: passages that an index proposes by vector, and as many by BM25.
    """

    top_k: int = 10
    offset: int = 0
    threshold: float | None = None
    fusion: str = DEFAULT_FUSION
    num_candidates: int = NUM_CANDIDATES

    @property
    def end(self) -> int:
        """Hits up to the end of the page."""
        return self.offset + self.top_k


@dataclass(frozen=True, slots=True)
class PlacedSpan:
    """The best span of a passage for a phrase.

    Attributes:
        row: the phrase's row in the query.
        doc_id: the document.
        passage: the passage around the span.
        metadata: of the passage.
        start: first code point of the span in the document's text.
        end: one past the last.
        words: number of its words.
        cosine: similarity of span and phrase.
        bm25: of the passage for the phrase.
        score: both, fused.
    """

    row: int
    doc_id: str
    passage: Context
    metadata: Metadata
    start: int
    end: int
    words: int
    cosine: float
    bm25: float
    score: float


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a search.

    Attributes:
        spans: by falling score.
        exhaustive: whether every passage was scored, not only those that an index proposed.
    """

    spans: tuple[PlacedSpan, ...]
    exhaustive: bool


def best_columns(
    scores: FloatArray, cosines: FloatArray, wanted: PageRequest
) -> list[tuple[int, int]]:
    """Row and column of the best score of each passage on a page.

    A passage counts with the phrase that scores best in it; equal scores are ordered by column.

    Args:
        scores: ``(n_phrases, n_passages)``; ``-inf`` for passages that do not count.
        cosines: ``(n_phrases, n_passages)``.
        wanted: the page.
    """
    if wanted.threshold is not None:
        scores = np.where(cosines >= wanted.threshold, scores, -np.inf)
    best = scores.max(axis=0, initial=-np.inf)
    order = np.argsort(-best, kind="stable")[wanted.offset : wanted.end]
    columns = order[np.isfinite(best[order])].tolist()
    return [(int(scores[:, column].argmax()), column) for column in columns]
