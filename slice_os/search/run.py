"""Searching and mining a store of any kind: phrases in, hits out, or what comes nearest."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import InputError
from slice_os.hits.collapse import alike
from slice_os.hits.hit import Hit, Hits
from slice_os.query.filters import DOCUMENT_ID, Condition
from slice_os.query.fusion import Fusion, convex
from slice_os.query.options import (
    DEFAULT_SEARCH,
    FUSIONS,
    MAX_CANDIDATES,
    SERVER,
    SPAN,
    SearchOptions,
    check_threshold,
    check_unit,
    linear_fusion,
    load_fusion,
)
from slice_os.query.query import Phrases, Query, Where
from slice_os.search.hit_builder import HitBuilder
from slice_os.spans.choice import PassageScorer
from slice_os.stores.candidates import (
    BestPassages,
    ScoredCandidates,
    ScoredPassage,
    StoredPassage,
    best_columns,
)
from slice_os.stores.protocol import FusingStore, ScoringStore, Store
from slice_os.threads import checkpoint, one_blas_thread

Key = TypeVar("Key")

# Where hits can be lost, so many times more passages than hits are searched for.
_MORE = 4
_LOADED = 256


@dataclass(frozen=True, slots=True)
class FoundHits:
    """The hits in the best passages of a search.

    Attributes:
        hits: by falling score.
        passages: number of these passages.
        least: score of the last of them; no hit of another passage has a higher one.
    """

    hits: Hits
    passages: int
    least: float


def make_query(
    encoder: SpanEncoder,
    phrases: str | Sequence[str],
    where: Where = (),
    unit: str = SPAN,
    word_vectors: bool = False,
    counter_phrases: Sequence[str] = (),
) -> Query:
    """The query for origin phrases, with the span lengths of the encoder; see `Query`.

    Raises an `InputError` on no phrase, or one without a word, or an unknown unit.
    """
    check_unit(unit)
    if not isinstance(phrases, Iterable):
        raise InputError(f"phrases {phrases!r}: give a string, or a list of strings")
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


def without_terms(query: Query) -> Query:
    """The query for where BM25 is not used, so that no store counts terms in all its passages."""
    texts = ("",) * len(query.phrases.texts)
    return replace(query, phrases=replace(query.phrases, texts=texts))


def search(store: Store, query: Query, options: SearchOptions = DEFAULT_SEARCH) -> Hits:
    """The best hits for any of the phrases, by score; nothing is verified.

    Phrases are alternatives: a passage has the score, and the hits, of the phrase that is best in
    it. Hits with equal scores are in the order of their passages' scores, and then of the store,
    so that pages never repeat a hit.

    Raises an `InputError` if the options reach beyond the candidates of an index.
    """
    if not store.exhaustive:
        options.check_reach()
    steps = passage_requests(query, options, store.exhaustive)
    step = next(steps)
    while isinstance(step, SearchOptions):
        step = steps.send(_found(store, query, step))
    return step


def mine(
    store: Store, query: Query, *, threshold: float | Sequence[float], exhaustive: bool = True
) -> Iterator[Hit]:
    """Every hit of every phrase, in stored order.

    Hits of one phrase never overlap; hits of two phrases may. See `Store.scan` for the arguments;
    each phrase may have a threshold of its own.

    Yields hits by document, passage, phrase and position; their score is that of convex fusion,
    as a search gives it.
    """
    given = np.atleast_1d(threshold).tolist()
    for one in given:
        check_threshold(one)
    for candidates in store.scan(query, min(given), exhaustive):
        yield from all_hits(candidates, query, threshold)


def passage_requests(
    query: Query, options: SearchOptions, exhaustive: bool
) -> Generator[SearchOptions | Hits, FoundHits, None]:
    """Search for passages until the requested hits are complete, and no better ones can follow.

    With a least probability, some hits of each collapsed group stay, for `Refinement.best` to read.

    Yields the passages to search for next, to which the hits in them are sent; then the hits.
    An ``exhaustive`` store scores every passage, however many are requested.
    """
    loses_hits = options.collapse or query.counters is not None
    if not loses_hits and options.per_passage == 1:
        found = yield options
        yield found.hits
        return
    most = max(MAX_CANDIDATES if exhaustive else options.num_candidates, options.end)
    # Of hits in the same words, the first to be read may be the only unlikely one.
    apart = 1 if options.min_probability is None else 3
    size = min((_MORE if loses_hits else 1) * options.end, most)
    while True:
        found = yield replace(options, top_k=size, offset=0)
        complete = found.passages < size or size >= most
        sure: list[Hit] = [hit for hit in found.hits if complete or hit.score >= found.least]
        groups = alike(sure, apart) if options.collapse else [[hit] for hit in sure]
        if complete or len(groups) >= options.end:
            shown = [hit for group in groups[options.offset : options.end] for hit in group]
            shown.sort(key=lambda hit: -hit.score)
            yield replace(found.hits, items=tuple(shown))
            return
        size = min(_MORE * size, most)


def _found(store: Store, query: Query, options: SearchOptions) -> FoundHits:
    best = store.best_passages(query, options) if isinstance(store, ScoringStore) else None
    if best is not None:
        return hits_in(best, query, options)
    if options.fusion != SERVER:
        candidates = store.rank(query, options.num_candidates)
        scores = fused(candidates, load_fusion(options.fusion))
    elif isinstance(store, FusingStore):
        candidates, scores = store.rank_fused(query, options.num_candidates)
    else:
        raise InputError(
            f"fusion '{SERVER}' needs a store in OpenSearch; use one of {', '.join(FUSIONS)}"
        )
    return best_hits(candidates, scores, query, options, exhaustive=store.exhaustive)


def fused(candidates: ScoredCandidates, fuse: Fusion) -> FloatArray:
    """``(n_phrases, n_passages)`` fused scores of the candidates."""
    rows = zip(candidates.cosines, candidates.bm25, candidates.bm25_best.tolist(), strict=True)
    return np.stack([fuse(*row) for row in rows])


def best_hits(
    candidates: ScoredCandidates,
    scores: FloatArray,
    query: Query,
    options: SearchOptions,
    exhaustive: bool = False,
) -> FoundHits:
    """The hits in the candidates with the highest ``(n_phrases, n_passages)`` scores.

    Candidates are ``exhaustive`` if they are all passages.
    """
    best = _best_places(candidates, scores, query, options)
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
    found = hits_in(BestPassages(passages, exhaustive), query, options)
    # Passages that were deleted meanwhile do not mean that there are no more.
    return replace(found, passages=len(best))


def _best_places(
    candidates: ScoredCandidates, scores: FloatArray, query: Query, options: SearchOptions
) -> list[tuple[int, int]]:
    """The results of `best_columns`, where exact spans decide whether a threshold is reached.

    They are computed of the passages that may be among the best, if their cosines are so near the
    threshold that the error of these matters.
    """
    threshold = options.threshold
    if threshold is None or not candidates.error:
        return best_columns(scores, candidates.cosines, options)
    near = np.abs(candidates.cosines - threshold) <= candidates.error
    cosines = np.where(near, np.float32(threshold), candidates.cosines)
    reach = options.end
    while True:
        best = best_columns(scores, cosines, replace(options, top_k=reach, offset=0))
        if not any(near[place] for place in best[: options.end]):
            return best[options.offset : options.end]
        unsure = [place for place in best if near[place]]
        loaded = candidates.load([candidates.keys[column] for _, column in unsure])
        for row, column in unsure:
            near[row, column] = False
            passage = loaded.get(candidates.keys[column])
            if passage is None or not _reaches(passage, query, row, threshold):
                cosines[row, column] = -np.inf
        reach *= 2  # however many copies of a passage are there, in few rounds


def _reaches(passage: StoredPassage, query: Query, row: int, threshold: float) -> bool:
    scorer = PassageScorer(passage.encoded, query, passage.norms)
    return any(True for _ in scorer.best_spans(row, threshold))


@one_blas_thread()
def hits_in(best: BestPassages, query: Query, options: SearchOptions) -> FoundHits:
    """The hits in passages that a store scored itself."""
    fusion = linear_fusion(options.fusion)
    hits: list[Hit] = []
    for found in best.passages:
        checkpoint()
        hits += HitBuilder(found.passage, query).hits(
            found.row,
            bm25=found.bm25,
            score=found.score,
            cosine_weight=fusion.cosine if fusion else 0.0,
            threshold=-1.0 if options.threshold is None else options.threshold,
            limit=options.per_passage,
        )
    hits.sort(key=lambda hit: -hit.score)
    least = best.passages[-1].score if best.passages else -np.inf
    return FoundHits(
        Hits(tuple(hits), options.threshold, best.exhaustive), len(best.passages), least
    )


def all_hits(
    candidates: ScoredCandidates, query: Query, threshold: float | Sequence[float]
) -> Iterator[Hit]:
    """Every hit in the candidates' passages; see `mine`."""
    scores = fused(candidates, convex)
    least = np.broadcast_to(threshold, len(query.phrases.texts)).tolist()
    reach = candidates.cosines >= np.array(least, dtype=np.float32)[:, None]
    loaded = candidates.load(candidates.keys)
    for column, key in enumerate(candidates.keys):
        checkpoint()
        passage = loaded.get(key)
        if passage is None:
            continue
        builder = HitBuilder(passage, query)
        for row in np.flatnonzero(reach[:, column]).tolist():
            yield from builder.hits(
                row,
                bm25=float(candidates.bm25[row, column]),
                score=float(scores[row, column]),
                cosine_weight=convex.cosine,
                threshold=least[row],
            )


def nearest_spans(
    store: Store, query: Query, doc_ids: Sequence[str], rows: Mapping[Key, Sequence[int]]
) -> dict[str, dict[Key, Hit]]:
    """By document, the span with the highest cosine to phrases of each group, not verified.

    Groups have rows of the query. A document that has no passage that the filter admits is left
    out, and so is a group's span if it is nearer to a counter-phrase.
    """
    own = Condition(DOCUMENT_ID, "eq", tuple(doc_ids))
    asked = without_terms(replace(query, where=(*query.where, own), counters=None))
    best: dict[str, dict[Key, tuple[float, int, StoredPassage]]] = {}
    for candidates in _parts(store.scan(asked, -1.0, exhaustive=True) if doc_ids else ()):
        loaded = candidates.load(candidates.keys)
        for column, passage in enumerate(map(loaded.get, candidates.keys)):
            if passage is None:
                continue
            found = best.setdefault(passage.doc_id, {})
            for key, own_rows in rows.items():
                row = max(own_rows, key=candidates.cosines[:, column].__getitem__)
                cosine = float(candidates.cosines[row, column])
                if key not in found or cosine > found[key][0]:
                    found[key] = cosine, row, passage
    return {
        doc_id: {
            key: hit
            for key, (_, row, passage) in found.items()
            for hit in HitBuilder(passage, query).hits(row, limit=1)
        }
        for doc_id, found in best.items()
    }


def _parts(scanned: Iterable[ScoredCandidates]) -> Iterator[ScoredCandidates]:
    """Candidates, some at a time, since the passages of long documents take much memory."""
    for candidates in scanned:
        columns = np.arange(len(candidates.keys))
        for start in range(0, len(columns), _LOADED):
            yield candidates.select(columns[start : start + _LOADED])


def likelihood(hit: Hit) -> tuple[int, float, float]:
    """The key that sorts hits: people's answer, then the probability, then the cosine."""
    said = 0 if hit.label is None else 1 if hit.label else -1
    return said, hit.probability or 0.0, hit.cosine
