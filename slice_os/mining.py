"""Searching and mining, for every kind of store: phrases in, hits out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.candidates import ScoredCandidates
from slice_os.encoder import SpanEncoder
from slice_os.errors import InputError
from slice_os.fusion import Fusion, convex
from slice_os.hit_builder import HitBuilder
from slice_os.query import Phrases, Query, Where
from slice_os.results import Hit, Hits
from slice_os.search_options import (
    DEFAULT_FUSION,
    FUSIONS,
    MAX_CANDIDATES,
    NUM_CANDIDATES,
    SERVER,
    load_fusion,
)
from slice_os.stores.base import FusingStore, Store


def make_query(
    encoder: SpanEncoder, phrases: str | Sequence[str], where: Where | None = None
) -> Query:
    """The query for origin phrases, with the span lengths of the encoder.

    Raises:
        InputError: on no phrase, or one without a word.
    """
    texts = tuple(dict.fromkeys([phrases] if isinstance(phrases, str) else phrases))
    if not texts:
        raise InputError("no phrase to search for")
    return Query(
        phrases=Phrases(texts, encoder.encode_phrases(texts)),
        where=where or {},
        min_words=encoder.card.min_words,
        max_words=encoder.card.max_words,
        calibration=encoder.calibration,
    )


def search(
    store: Store,
    query: Query,
    *,
    top_k: int = 10,
    offset: int = 0,
    threshold: float | None = None,
    fusion: str = DEFAULT_FUSION,
    num_candidates: int = NUM_CANDIDATES,
) -> Hits:
    """The best passages for any of the phrases, each with its best span.

    Phrases are alternatives: a passage counts with the phrase that scores best in it. Equal
    scores are ordered by the passage's position in the store, so that pages never repeat a hit.

    Args:
        store: where to search.
        query: what to look for.
        top_k: number of hits.
        offset: hits to skip, for the next page.
        threshold: least cosine of a hit; None for any.
        fusion: how cosine and BM25 make a score: one of `FUSIONS`, or ``server`` to leave it to
            a store that can.
        num_candidates: passages that a store with an index proposes by vector, and as many by
            BM25; all pages of a search need the same number.

    Raises:
        InputError: on an unknown fusion, a negative top_k or offset, or a page beyond the
            candidates.
    """
    check_page(top_k, offset, None if store.exhaustive else num_candidates)
    if fusion != SERVER:
        fuse = load_fusion(fusion)
        candidates = store.rank(query, num_candidates)
        scores = fused(candidates, fuse)
    elif isinstance(store, FusingStore):
        candidates, scores = store.rank_fused(query, num_candidates)
    else:
        raise InputError(
            f"fusion '{SERVER}' needs a store in OpenSearch; use one of {', '.join(FUSIONS)}"
        )
    return best_hits(candidates, scores, query, top_k=top_k, offset=offset, threshold=threshold)


def mine(store: Store, query: Query, *, threshold: float, exhaustive: bool = True) -> Iterator[Hit]:
    """Every hit of every phrase, in stored order.

    Hits of one phrase never overlap; hits of two phrases may.

    Args:
        store: where to search.
        query: what to look for.
        threshold: least cosine of a hit.
        exhaustive: score every passage, so that none is missed; otherwise only those that an
            index of spans proposes, which is faster on large indices.

    Yields:
        Hits by document, passage, phrase and position; their score is that of convex fusion.
    """
    for candidates in store.scan(query, threshold, exhaustive):
        yield from all_hits(candidates, query, threshold)


def check_page(top_k: int, offset: int, num_candidates: int | None) -> None:
    """Refuse pages that do not exist, or that would not fit the pages before.

    Args:
        top_k: number of hits.
        offset: hits to skip.
        num_candidates: passages that a store proposes; None if it scores them all.

    Raises:
        InputError: saying which values work.
    """
    if top_k < 0 or offset < 0:
        raise InputError("top_k and offset must not be negative")
    if num_candidates is None:
        return
    if not 1 <= num_candidates <= MAX_CANDIDATES:
        raise InputError(f"num_candidates {num_candidates}: give 1 to {MAX_CANDIDATES:,}")
    if offset + top_k > num_candidates:
        raise InputError(
            f"hits {offset + 1} to {offset + top_k} are beyond the {num_candidates} candidates: "
            f"use num_candidates {offset + top_k} or more for all pages, or mine by threshold"
        )


def fused(candidates: ScoredCandidates, fuse: Fusion) -> FloatArray:
    """``(n_phrases, n_passages)`` fused scores of the candidates."""
    rows = zip(candidates.cosines, candidates.bm25, candidates.bm25_best.tolist(), strict=True)
    return np.stack([fuse(*row) for row in rows])


def best_hits(
    candidates: ScoredCandidates,
    scores: FloatArray,
    query: Query,
    *,
    top_k: int,
    offset: int,
    threshold: float | None,
) -> Hits:
    """One page of the candidates with the highest scores; see `search`.

    Args:
        candidates: what a store proposes.
        scores: ``(n_phrases, n_passages)``.
        query: what to look for.
        top_k: number of hits.
        offset: hits to skip.
        threshold: least cosine of a hit; None for any.
    """
    if threshold is not None:
        scores = np.where(candidates.cosines >= threshold, scores, -np.inf)
    best = scores.max(axis=0, initial=-np.inf)
    order = np.argsort(-best, kind="stable")[offset : offset + top_k]
    order = order[np.isfinite(best[order])]
    loaded = candidates.load([candidates.keys[column] for column in order])
    hits: list[Hit] = []
    for column in order:
        passage = loaded.get(candidates.keys[column])
        if passage is not None:
            row = int(scores[:, column].argmax())
            hits += HitBuilder(passage, query).hits(
                row,
                bm25=float(candidates.bm25[row, column]),
                score=float(scores[row, column]),
                limit=1,
            )
    return Hits(tuple(hits), threshold)


def all_hits(candidates: ScoredCandidates, query: Query, threshold: float) -> Iterator[Hit]:
    """Every hit in the candidates' passages; see `mine`."""
    scores = fused(candidates, convex)
    loaded = candidates.load(candidates.keys)
    for column, key in enumerate(candidates.keys):
        passage = loaded.get(key)
        if passage is None:
            continue
        builder = HitBuilder(passage, query)
        for row in np.flatnonzero(candidates.cosines[:, column] >= threshold).tolist():
            yield from builder.hits(
                row,
                bm25=float(candidates.bm25[row, column]),
                score=float(scores[row, column]),
                threshold=threshold,
            )
