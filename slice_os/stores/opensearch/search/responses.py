"""Reading OpenSearch's answers to the requests in `search_bodies`, as pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.errors import StoreError
from slice_os.query.query import Query
from slice_os.spans.passage_scorer import PassageScorer
from slice_os.stores.candidates import PassageKey, ScoredCandidates, StoredPassage
from slice_os.stores.opensearch.schema.records import fetched, named_scores, passage_key
from slice_os.stores.opensearch.search import search_bodies
from slice_os.stores.opensearch.search.search_bodies import Answer
from slice_os.threads import one_blas_thread


def each(answers: list[Answer], location: str) -> list[Answer]:
    """The answers to a multi-search.

    Raises:
        StoreError: if one of the searches failed.
    """
    for one in answers:
        if "error" in one:
            cause = (one["error"].get("root_cause") or [one["error"]])[0]
            raise StoreError(f"{location}: OpenSearch says {cause.get('reason')}")
    return answers


def id_of(hit: Answer) -> str:
    """The id of a passage, from the fields `search_bodies.PLACES`."""
    fields = hit["fields"]
    return passage_key(fields["doc_id"][0], fields["ordinal"][0])


def ids_of(answers: Sequence[Answer]) -> list[str]:
    """Ids of the passages that several searches found, without duplicates."""
    return list(dict.fromkeys(id_of(hit) for answer in answers for hit in answer["hits"]["hits"]))


def in_stored_order(hits: Iterable[Answer]) -> list[str]:
    """Ids of hits of searches sorted by `search_bodies.STORED_ORDER`, without duplicates."""
    return [passage_key(*place) for place in sorted({tuple(hit["sort"]) for hit in hits})]


def ranked_best(answers: Sequence[Answer]) -> FloatArray:
    """``(n_phrases,)``, the best BM25 of each phrase, from answers to `search_bodies.ranking`."""
    return best_bm25(answers[1 :: search_bodies.SEARCHES])


def best_bm25(answers: Sequence[Answer]) -> FloatArray:
    """``(n_phrases,)``, the best BM25 of each phrase, from answers to `search_bodies.best`."""
    best = [answer["hits"]["max_score"] or 0.0 for answer in answers]
    return np.array(best, dtype=np.float32)


@one_blas_thread()
def candidates(hits: Sequence[Answer], query: Query, best: FloatArray) -> ScoredCandidates:
    """Score the hits of `search_bodies.candidates` or `search_bodies.walk`, in stored order."""
    found = sorted(
        map(fetched, hits), key=lambda item: (item.passage.doc_id, item.passage.encoded.start)
    )
    scorers = [PassageScorer(item.passage.encoded, query) for item in found]
    rows = range(len(query.phrases.texts))
    cosines = [scorer.best_cosines() for scorer in scorers]
    bm25 = [[item.bm25.get(row, 0.0) for row in rows] for item in found]
    shape = (len(found), len(rows))
    passages: dict[PassageKey, StoredPassage] = {
        item.key: replace(item.passage, norms=scorer.norms)
        for item, scorer in zip(found, scorers, strict=True)
    }
    return ScoredCandidates(
        keys=[item.key for item in found],
        cosines=np.array(cosines, dtype=np.float32).reshape(shape).T,
        bm25=np.array(bm25, dtype=np.float32).reshape(shape).T,
        bm25_best=best,
        load=partial(_select, passages),
    )


def with_evidence(found: ScoredCandidates, hits: Sequence[Answer]) -> ScoredCandidates:
    """The same candidates with the BM25 of further phrases, from `search_bodies.evidence`."""
    columns = {key: column for column, key in enumerate(found.keys)}
    bm25 = found.bm25.copy()
    for hit in hits:
        for row, score in named_scores(hit).items():
            bm25[row, columns[hit["_id"]]] = score
    return replace(found, bm25=bm25)


def _select(
    passages: Mapping[PassageKey, StoredPassage], keys: Sequence[PassageKey]
) -> Mapping[PassageKey, StoredPassage]:
    return {key: passages[key] for key in keys}
