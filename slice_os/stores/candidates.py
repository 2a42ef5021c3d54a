"""Scored candidates and the best passages, as stores return them, and what is behind them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from slice_os.arrays import FloatArray, IntArray
from slice_os.query.options import SearchOptions
from slice_os.spans.passages import EncodedPassage

PassageKey: TypeAlias = Hashable


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A passage as a store returns it.

    Attributes:
        doc_id: its document.
        text: its text.
        encoded: its offsets, words and (quantised) vectors; its metadata includes the document's.
        norms: ``(n_words, max_words)`` lengths of its summed span vectors, as `span_norms` gives
            them; None if they are not known yet.
    """

    doc_id: str
    text: str
    encoded: EncodedPassage
    norms: FloatArray | None = None


PassageLoader: TypeAlias = Callable[[Sequence[PassageKey]], Mapping[PassageKey, StoredPassage]]


@dataclass(frozen=True, slots=True)
class ScoredCandidates:
    """Passages that a store proposes, and their scores for each phrase.

    Attributes:
        keys: the store's ids of the passages.
        cosines: ``(n_phrases, n_passages)``, the exact maximum over all spans, but for the
            ``error``.
        bm25: ``(n_phrases, n_passages)``, 0 if no term of the phrase occurs.
        bm25_best: ``(n_phrases,)``, the highest BM25 of any passage that the filter admits.
        load: returns the passages of some of these keys. A local store returns all, as they were
            when they were scored; elsewhere a passage deleted meanwhile is missing.
        error: how far a cosine may be from that of the passage's best span.
    """

    keys: Sequence[PassageKey]
    cosines: FloatArray
    bm25: FloatArray
    bm25_best: FloatArray
    load: PassageLoader = field(repr=False, compare=False)
    error: float = 0.0

    def select(self, columns: IntArray) -> ScoredCandidates:
        """The candidates in these columns."""
        keys = [self.keys[column] for column in columns.tolist()]
        cosines, bm25 = self.cosines[:, columns], self.bm25[:, columns]
        return replace(self, keys=keys, cosines=cosines, bm25=bm25)

    def at_least(self, threshold: float) -> ScoredCandidates:
        """The candidates with a span at or above a cosine, for any of the phrases."""
        return self.select(np.flatnonzero((self.cosines >= threshold).any(axis=0)))


@dataclass(frozen=True, slots=True)
class ScoredPassage:
    """A passage that a store scored for the phrase in a row of the query."""

    row: int
    passage: StoredPassage
    bm25: float
    score: float


@dataclass(frozen=True, slots=True)
class BestPassages:
    """The passages with the best scores, as many as a search requests, by falling score.

    They are ``exhaustive`` if every passage was scored, not only those that an index proposed.
    """

    passages: tuple[ScoredPassage, ...]
    exhaustive: bool


def best_columns(
    scores: FloatArray, cosines: FloatArray, wanted: SearchOptions
) -> list[tuple[int, int]]:
    """Row and column of the best score of each requested passage.

    A passage has the score of the phrase that is best in it; equal scores are ordered by column.
    Scores and cosines are ``(n_phrases, n_passages)``; passages of ``-inf`` are left out.
    """
    if wanted.threshold is not None:
        scores = np.where(cosines >= wanted.threshold, scores, -np.inf)
    best = scores.max(axis=0, initial=-np.inf)
    order = np.argsort(-best, kind="stable")[wanted.offset : wanted.end]
    columns = order[np.isfinite(best[order])].tolist()
    return [(int(scores[:, column].argmax()), column) for column in columns]
