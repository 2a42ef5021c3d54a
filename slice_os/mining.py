"""Searching and mining a store: phrases in, hits out, whatever the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.candidates import PassageKey, ScoredCandidates, StoredPassage
from slice_os.encoder import SpanEncoder
from slice_os.errors import InputError
from slice_os.fusion import Fusion, convex, fusion_named
from slice_os.passages import EncodedPassage
from slice_os.query import Phrases, Query, Where
from slice_os.results import Context, Hit, Hits
from slice_os.scoring import best_spans
from slice_os.spans import ScoredSpan
from slice_os.stores.base import FusingStore, Store
from slice_os.words import find_words

NUM_CANDIDATES = 400
MOST_CANDIDATES = 10_000
SERVER = "server"

Load = Callable[[Sequence[PassageKey]], dict[PassageKey, StoredPassage]]


def make_query(
    encoder: SpanEncoder, phrases: str | Sequence[str], where: Where | None = None
) -> Query:
    """The query for origin phrases, over the span lengths of the encoder.

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
    fusion: str = "convex",
    num_candidates: int = NUM_CANDIDATES,
) -> Hits:
    """The best passages for any of the phrases, each with its best span.

    Phrases are alternatives: a passage counts with the phrase that scores best in it. Equal
    scores are ordered by the passage's place in the store, so that pages never repeat a hit.

    Args:
        store: where to look.
        query: what to look for.
        top_k: hits wanted.
        offset: hits to pass over first.
        threshold: least cosine of a hit; None for any.
        fusion: how cosine and BM25 make a score: ``convex``, ``rrf``, ``cosine``, or
            ``server`` to leave it to a store that can.
        num_candidates: passages that a store with an index proposes by vector, and as many by BM25;
            pages of one depth belong together.

    Raises:
        InputError: on an unknown fusion, a top_k or offset below zero, or a page beyond the
            depth.
    """
    check_page(top_k, offset, None if store.exhaustive else num_candidates)
    if fusion != SERVER:
        fuse = fusion_named(fusion)
        candidates = store.rank(query, num_candidates)
        scores = fused(candidates, fuse)
    elif isinstance(store, FusingStore):
        candidates, scores = store.rank_fused(query, num_candidates)
    else:
        raise InputError("fusion 'server' needs a store in OpenSearch; use convex, rrf or cosine")
    return best_hits(
        candidates, scores, query, store.load, top_k=top_k, offset=offset, threshold=threshold
    )


def mine(store: Store, query: Query, *, threshold: float, exhaustive: bool = True) -> Iterator[Hit]:
    """Every hit of every phrase, in stored order.

    Hits of one phrase never overlap; those of two phrases may.

    Args:
        store: where to look.
        query: what to look for.
        threshold: least cosine of a hit.
        exhaustive: score every passage and so miss none; else only those that an index of
            spans proposes, which is quicker on large indices.

    Yields:
        Hits by document, passage, phrase and place; their score is that of convex fusion.
    """
    for candidates in store.scan(query, threshold, exhaustive):
        yield from all_hits(candidates, query, store.load, threshold)


def check_page(top_k: int, offset: int, num_candidates: int | None) -> None:
    """Refuse pages that cannot be had, or that would not fit the pages before.

    Args:
        top_k: hits wanted.
        offset: hits to pass over first.
        num_candidates: passages that a store proposes; None if it knows them all.

    Raises:
        InputError: saying what to ask for.
    """
    if top_k < 0 or offset < 0:
        raise InputError("top_k and offset must not be negative")
    if num_candidates is None:
        return
    if not 1 <= num_candidates <= MOST_CANDIDATES:
        raise InputError(f"num_candidates {num_candidates}: give 1 to {MOST_CANDIDATES:,}")
    if offset + top_k > num_candidates:
        raise InputError(
            f"hits {offset + 1} to {offset + top_k} lie beyond the {num_candidates} candidates: "
            f"ask for all pages with num_candidates {offset + top_k} or more, or mine by threshold"
        )


def fused(candidates: ScoredCandidates, fuse: Fusion) -> FloatArray:
    """``(n_phrases, n_passages)`` scores of the evidence."""
    rows = zip(candidates.cosines, candidates.bm25, candidates.bm25_best.tolist(), strict=True)
    return np.stack([fuse(*row) for row in rows])


def best_hits(
    candidates: ScoredCandidates,
    scores: FloatArray,
    query: Query,
    load: Load,
    *,
    top_k: int,
    offset: int,
    threshold: float | None,
) -> Hits:
    """A page of the passages with the highest scores; see `search`.

    Args:
        candidates: what a store knows of passages.
        scores: ``(n_phrases, n_passages)``.
        query: what to look for.
        load: gives passages by key.
        top_k: hits wanted.
        offset: hits to pass over first.
        threshold: least cosine of a hit; None for any.
    """
    if threshold is not None:
        scores = np.where(candidates.cosines >= threshold, scores, -np.inf)
    best = scores.max(axis=0, initial=-np.inf)
    order = np.argsort(-best, kind="stable")[offset : offset + top_k]
    order = order[np.isfinite(best[order])]
    loaded = load([candidates.keys[column] for column in order])
    hits: list[Hit] = []
    for column in order:
        passage = loaded.get(candidates.keys[column])
        if passage is not None:
            row = int(scores[:, column].argmax())
            hits += _hits(passage, query, row, candidates, int(column), scores, limit=1)
    return Hits(tuple(hits), threshold)


def all_hits(
    candidates: ScoredCandidates, query: Query, load: Load, threshold: float
) -> Iterator[Hit]:
    """Every hit in the passages of some evidence; see `mine`."""
    scores = fused(candidates, convex)
    loaded = load(candidates.keys)
    for column, key in enumerate(candidates.keys):
        passage = loaded.get(key)
        if passage is None:
            continue
        for row in np.flatnonzero(candidates.cosines[:, column] >= threshold):
            yield from _hits(
                passage, query, int(row), candidates, column, scores, threshold=threshold
            )


def place(passage: EncodedPassage, span: ScoredSpan) -> tuple[int, int]:
    """Code points of a span in the document's text."""
    words = passage.words[span.word : span.word + span.words]
    return int(words[0, 0]), int(words[-1, 1])


def probability(query: Query, row: int, span: ScoredSpan) -> float | None:
    """The probability that a span says the phrase in that row of the query, if it can be told."""
    if query.calibration is None:
        return None
    phrase_words = len(find_words(query.phrases.texts[row]))
    return float(query.calibration.probabilities(span.cosine, phrase_words, span.words))


def _hits(
    passage: StoredPassage,
    query: Query,
    row: int,
    candidates: ScoredCandidates,
    column: int,
    scores: FloatArray,
    threshold: float = -1.0,
    limit: int | None = None,
) -> Iterator[Hit]:
    encoded = passage.encoded
    context = Context(encoded.start, encoded.end, passage.text)
    spans = best_spans(encoded, query, row, threshold, limit)
    for span in sorted(spans, key=lambda span: span.word):
        start, end = place(encoded, span)
        yield Hit(
            phrase=query.phrases.texts[row],
            doc_id=passage.doc_id,
            start=start,
            end=end,
            text=passage.text[start - encoded.start : end - encoded.start],
            cosine=span.cosine,
            bm25=float(candidates.bm25[row, column]),
            score=float(scores[row, column]),
            metadata=encoded.metadata,
            context=context,
            probability=probability(query, row, span),
        )
