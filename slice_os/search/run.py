"""Searching and mining, for every kind of store: phrases in, hits out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from numbers import Integral

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import InputError
from slice_os.hits.hit import Hit, Hits
from slice_os.query.fusion import Fusion, Linear, convex
from slice_os.query.options import (
    FUSIONS,
    MAX_CANDIDATES,
    SERVER,
    SPAN,
    check_threshold,
    check_unit,
    load_fusion,
)
from slice_os.query.query import Phrases, Query, Where
from slice_os.search.fill_page import FilledPage, FoundHits
from slice_os.search.hit_builder import HitBuilder
from slice_os.stores.candidates import ScoredCandidates
from slice_os.stores.protocol import FusingStore, PagingStore, Store
from slice_os.stores.result_page import Page, PageRequest, ScoredPassage, best_columns

FIRST_PAGE = PageRequest()


def make_query(
    encoder: SpanEncoder,
    phrases: str | Sequence[str],
    where: Where = (),
    unit: str = SPAN,
    word_vectors: bool = False,
    counter_phrases: Sequence[str] = (),
) -> Query:
    """The query for origin phrases, with the span lengths of the encoder.

    Args:
        encoder: of the store.
        phrases: one, or several.
        where: conditions on metadata.
        unit: how wide hits are.
        word_vectors: whether hits carry the vectors of their words, for a verifier.
        counter_phrases: words that are nearer to one of these than to every phrase are no hit.

    Raises:
        InputError: on no phrase, or one without a word, or an unknown unit.
    """
    check_unit(unit)
    texts = tuple(dict.fromkeys([phrases] if isinstance(phrases, str) else phrases))
    for text in texts:
        if not isinstance(text, str):
            raise InputError(f"phrase {text!r}: give a string, or a list of strings")
    if not texts:
        raise InputError("no phrase to search for")
    return Query(
        phrases=Phrases(texts, encoder.encode_phrases(texts)),
        where=where,
        min_words=encoder.card.min_words,
        max_words=encoder.card.max_words,
        calibration=encoder.calibration,
        unit=unit,
        word_vectors=word_vectors,
        counters=encoder.encode_phrases(counter_phrases) if counter_phrases else None,
    )


def search(
    store: Store, query: Query, wanted: PageRequest = FIRST_PAGE, collapse: bool = False
) -> Hits:
    """The best hits for any of the phrases.

    Phrases are alternatives: a passage counts with the phrase that scores best in it, and has
    hits of this one only. Hits with equal scores are ordered by the score of their passage, and
    then by its position in the store, so that pages never repeat a hit.

    Args:
        store: where to search.
        query: what to look for.
        wanted: the page.
        collapse: show hits in the same words as one; see `slice_os.hits.collapse.collapse`.

    Raises:
        InputError: on an unknown fusion, or one by rank for several hits of a passage, on a
            negative top_k or offset, or a page beyond the candidates.
    """
    check_page(wanted, store.exhaustive)
    attempt = FilledPage.of(wanted, query, collapse, store.exhaustive)
    if attempt is None:
        return _found(store, query, wanted).hits
    while (page := attempt.page(_found(store, query, attempt.request))) is None:
        attempt = attempt.more()
    return page


def _found(store: Store, query: Query, wanted: PageRequest) -> FoundHits:
    """The hits in a page of passages."""
    if isinstance(store, PagingStore) and (page := store.page(query, wanted)) is not None:
        return page_hits(page, query, wanted)
    if wanted.fusion != SERVER:
        candidates = store.rank(query, wanted.num_candidates)
        scores = fused(candidates, load_fusion(wanted.fusion))
    elif isinstance(store, FusingStore):
        candidates, scores = store.rank_fused(query, wanted.num_candidates)
    else:
        raise InputError(
            f"fusion '{SERVER}' needs a store in OpenSearch; use one of {', '.join(FUSIONS)}"
        )
    return best_hits(candidates, scores, query, wanted, exhaustive=store.exhaustive)


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
    check_threshold(threshold)
    for candidates in store.scan(query, threshold, exhaustive):
        yield from all_hits(candidates, query, threshold)


def check_page(wanted: PageRequest, exhaustive: bool) -> None:
    """Refuse pages that do not exist, or that would not fit the pages before.

    Args:
        wanted: the page.
        exhaustive: whether the store always scores every passage.

    Raises:
        InputError: saying which values work.
    """
    for name in ("top_k", "offset", "num_candidates", "per_passage"):
        number: object = getattr(wanted, name)
        if not isinstance(number, Integral):
            raise InputError(f"{name} {number!r}: give a whole number")
    if wanted.threshold is not None:
        check_threshold(wanted.threshold)
    if wanted.top_k < 0 or wanted.offset < 0:
        raise InputError("top_k and offset must not be negative")
    if wanted.per_passage < 1:
        raise InputError(f"per_passage {wanted.per_passage}: give 1 or more")
    if wanted.per_passage > 1 and _linear(wanted.fusion) is None:
        able = ", ".join(name for name in FUSIONS if _linear(name))
        raise InputError(
            f"per_passage {wanted.per_passage}: fusion '{wanted.fusion}' ranks passages, not "
            f"hits; use one of {able}"
        )
    if wanted.fusion != SERVER:
        load_fusion(wanted.fusion)
    if exhaustive:
        return
    if not 1 <= wanted.num_candidates <= MAX_CANDIDATES:
        raise InputError(f"num_candidates {wanted.num_candidates}: give 1 to {MAX_CANDIDATES:,}")
    if wanted.end > wanted.num_candidates:
        raise InputError(
            f"hits {wanted.offset + 1} to {wanted.end} are beyond the {wanted.num_candidates} "
            f"candidates: use num_candidates {wanted.end} or more for all pages, or mine by "
            "threshold"
        )


def fused(candidates: ScoredCandidates, fuse: Fusion) -> FloatArray:
    """``(n_phrases, n_passages)`` fused scores of the candidates."""
    rows = zip(candidates.cosines, candidates.bm25, candidates.bm25_best.tolist(), strict=True)
    return np.stack([fuse(*row) for row in rows])


def best_hits(
    candidates: ScoredCandidates,
    scores: FloatArray,
    query: Query,
    wanted: PageRequest,
    exhaustive: bool = False,
) -> FoundHits:
    """The hits of one page of the candidates with the highest scores; see `search`.

    Args:
        candidates: what a store proposes.
        scores: ``(n_phrases, n_passages)``.
        query: what to look for.
        wanted: the page.
        exhaustive: whether the candidates are all passages.
    """
    best = best_columns(scores, candidates.cosines, wanted)
    loaded = candidates.load([candidates.keys[column] for _, column in best])
    passages = tuple(
        ScoredPassage(
            row,
            loaded[candidates.keys[column]],
            float(candidates.bm25[row, column]),
            float(scores[row, column]),
        )
        for row, column in best
        if candidates.keys[column] in loaded
    )
    found = page_hits(Page(passages, exhaustive), query, wanted)
    # Those that were deleted meanwhile do not mean that there are no more.
    return replace(found, passages=len(best))


def page_hits(page: Page, query: Query, wanted: PageRequest) -> FoundHits:
    """As `best_hits`, of a page that a store scored by itself."""
    fusion = _linear(wanted.fusion)
    hits: list[Hit] = []
    for found in page.passages:
        hits += HitBuilder(found.passage, query).hits(
            found.row,
            bm25=found.bm25,
            score=found.score,
            cosine_weight=fusion.cosine if fusion else 0.0,
            threshold=-1.0 if wanted.threshold is None else wanted.threshold,
            limit=wanted.per_passage,
        )
    hits.sort(key=lambda hit: -hit.score)
    least = page.passages[-1].score if page.passages else -np.inf
    return FoundHits(
        Hits(tuple(hits), wanted.threshold, page.exhaustive), len(page.passages), least
    )


def _linear(fusion: str) -> Linear | None:
    """A fusion that gives each hit of a passage its own score; None for one that does not."""
    found = None if fusion == SERVER else load_fusion(fusion)
    return found if isinstance(found, Linear) else None


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
