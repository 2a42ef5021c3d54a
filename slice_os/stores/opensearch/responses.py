"""Reading OpenSearch's answers, as pure functions; `search_bodies` has what they answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.candidates import PassageKey, ScoredCandidates, StoredPassage
from slice_os.errors import StoreError
from slice_os.query import Query
from slice_os.scoring import best_cosines
from slice_os.stores.opensearch import search_bodies
from slice_os.stores.opensearch.records import FetchedPassage, fetched
from slice_os.stores.opensearch.search_bodies import Answer


def each(answer: Answer, location: str) -> list[Answer]:
    """The answers of a multi-search.

    Raises:
        StoreError: if one of the searches failed.
    """
    answers: list[Answer] = answer["responses"]
    for one in answers:
        if "error" in one:
            cause = (one["error"].get("root_cause") or [one["error"]])[0]
            raise StoreError(f"{location}: OpenSearch says {cause.get('reason')}")
    return answers


def ids_of(answers: Sequence[Answer]) -> list[str]:
    """Ids of the passages that searches found, each once."""
    return list(dict.fromkeys(hit["_id"] for answer in answers for hit in answer["hits"]["hits"]))


def in_stored_order(hits: Iterable[Answer]) -> list[str]:
    """Ids of hits of `search_bodies.nearest` and `search_bodies.radial`, each once."""
    places = {tuple(hit["sort"]): hit["_id"] for hit in hits}
    return [places[place] for place in sorted(places)]


def ranked_best(answers: Sequence[Answer]) -> FloatArray:
    """``(n_phrases,)``, the highest BM25 of each phrase, by `search_bodies.ranking`."""
    return best_bm25(answers[1 :: search_bodies.SEARCHES])


def best_bm25(answers: Sequence[Answer]) -> FloatArray:
    """``(n_phrases,)``, the highest BM25 of each phrase, from a `search_bodies.bm25` for each."""
    best = [answer["hits"]["max_score"] or 0.0 for answer in answers]
    return np.array(best, dtype=np.float32)


def candidates(hits: Sequence[Answer], query: Query, best: FloatArray) -> ScoredCandidates:
    """Score the hits of `search_bodies.candidates` or `search_bodies.walk`, in stored order.

    Args:
        hits: of the search.
        query: what is looked for.
        best: what `best_bm25` gave.
    """
    found = sorted(
        map(fetched, hits), key=lambda item: (item.passage.doc_id, item.passage.encoded.start)
    )
    rows = range(len(query.phrases.texts))
    cosines = [best_cosines(item.passage.encoded, query) for item in found]
    bm25 = [[item.bm25.get(row, 0.0) for row in rows] for item in found]
    shape = (len(found), len(rows))
    return ScoredCandidates(
        keys=found,
        cosines=np.array(cosines, dtype=np.float32).reshape(shape).T,
        bm25=np.array(bm25, dtype=np.float32).reshape(shape).T,
        bm25_best=best,
    )


def at_least(found: ScoredCandidates, threshold: float) -> ScoredCandidates | None:
    """The evidence of passages with a span at or above a cosine; None if there is no one."""
    kept = np.flatnonzero((found.cosines >= threshold).any(axis=0))
    if not len(kept):
        return None
    return ScoredCandidates(
        keys=[found.keys[column] for column in kept.tolist()],
        cosines=found.cosines[:, kept],
        bm25=found.bm25[:, kept],
        bm25_best=found.bm25_best,
    )


def passages(keys: Sequence[PassageKey]) -> dict[PassageKey, StoredPassage]:
    """The passages of these keys, which came with the evidence."""
    return {key: key.passage for key in keys if isinstance(key, FetchedPassage)}
