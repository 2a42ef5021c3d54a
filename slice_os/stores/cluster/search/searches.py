"""Bodies of searches, and reading the answers to them, as pure functions."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.query.query import Query, Where
from slice_os.spans.choice import PassageScorer
from slice_os.stores.candidates import PassageKey, ScoredCandidates, StoredPassage
from slice_os.stores.cluster.engines.engine import Knn
from slice_os.stores.cluster.schema.records import (
    index_vectors,
    named_scores,
    passage_key,
    stored_passage,
)
from slice_os.stores.cluster.schema.settings import IndexSettings
from slice_os.stores.cluster.search.clauses import clause
from slice_os.threads import one_blas_thread

SHOWN = ["doc_id", "start", "end", "text", "metadata"]
PHRASE_SLOP = 2
SEARCHES = 3
PASSAGES = {"term": {"kind": "passage"}}
STORED_ORDER = [{"doc_id": "asc"}, {"ordinal": "asc"}]
WALK_PASSAGES = 100
FETCHED_PASSAGES = 500
GRAPH_WIDTH = 10_000
# OpenSearch allows 1,024 terms a query (indices.query.bool.max_clause_count), and a term has a
# character at least.
NAMED_CHARACTERS = 1_024
PROPOSAL_MARGIN = 0.1
KEEP_ALIVE = "5m"
# Of no shard less, and with BM25 by the terms of all of them.
ALL_SHARDS = {"allow_partial_search_results": "false", "search_type": "dfs_query_then_fetch"}
NAMED_SCORES = {"include_named_queries_score": "true"}

# Reading an id costs more than the search: it is a stored field, beside the large copy of the
# source that the server keeps for recovery. Doc values give the document and ordinal, thus the id.
PLACES = {"stored_fields": "_none_", "docvalue_fields": ["doc_id", "ordinal"]}

T = TypeVar("T")
Body = dict[str, Any]
Answer = dict[str, Any]


def admitted(where: Where) -> Body:
    """The filter for every passage that conditions admit, as `metadata.resolve_where` has them."""
    return {"bool": {"filter": [PASSAGES, *map(clause, where)]}}


def by_id(ids: Sequence[str]) -> Body:
    """The filter for some passages."""
    return {"ids": {"values": list(ids)}}


def with_content(body: Body) -> Body:
    """The search with the text, metadata and token vectors of what it finds."""
    return body | {"_source": SHOWN, "docvalue_fields": ["tokens"]}


def with_bm25(passages: Body, terms: Mapping[str, Body]) -> Body:
    """The query for some passages, with the BM25 of terms by their names."""
    named = [{"bool": {"must": [one], "_name": name}} for name, one in terms.items()]
    return {"bool": {"filter": [passages], "should": named, "minimum_should_match": 0}}


@dataclass(frozen=True, slots=True)
class Asked:
    """What an index is asked: a query, and the bodies of searches for it.

    Attributes:
        settings: of the index.
        query: with its filter as `metadata.resolve_where` returns it.
    """

    settings: IndexSettings
    query: Query

    @property
    def texts(self) -> Sequence[str]:
        """The phrases."""
        return self.query.phrases.texts

    @property
    def rows(self) -> range:
        """The rows of the phrases."""
        return range(len(self.texts))

    @property
    def steady(self) -> dict[str, str]:
        """Parameters that send equal queries to equal shard copies, so that pages agree."""
        digest = hashlib.sha256("\0".join(self.texts).encode()).hexdigest()
        return {"preference": digest[:16], **ALL_SHARDS}

    @property
    def admitted(self) -> Body:
        """The filter for every passage that the query admits."""
        return admitted(self.query.where)

    def msearch(self, index: str, bodies: Sequence[Body]) -> list[Body]:
        """Lines of a multi-search: a header before every body."""
        return [line for body in bodies for line in ({"index": index, **self.steady}, body)]

    def ranges(self, edges: Sequence[str]) -> Iterator[Body]:
        """Filters for what is admitted, divided by the ids of documents, in stored order."""
        for low, high in itertools.pairwise([None, *edges, None]):
            bounds = {name: edge for name, edge in (("gte", low), ("lt", high)) if edge is not None}
            within = [{"range": {"doc_id": bounds}}] if bounds else []
            yield {"bool": {"filter": [self.admitted, *within]}}

    def sampled(self, size: int) -> Body:
        """Some of the passages that are admitted, at random; places only."""
        chosen = {"query": self.admitted, "random_score": {}, "boost_mode": "replace"}
        return PLACES | {"size": size, "query": {"function_score": chosen}}

    def dense(self, vector: FloatArray, size: int, depth: int = 0) -> Body:
        """The passages with the span nearest to a phrase; places and scores only.

        The graph is explored for ``depth`` passages, if these are more. If many spans are alike, as
        in dialogues, exploring for ``size`` passages only misses many of the best ones; see
        docs/notebook/2026-11-opensearch-search.md.
        """
        query = self._nested(vector, self.settings.engine.nearest, max(size, depth))
        return PLACES | {"size": size, "query": query}

    def nearest(self, vector: FloatArray, least: float) -> Body:
        """At most `GRAPH_WIDTH` nearest passages at or above a score; ids only, in stored order."""
        body = self.dense(vector, GRAPH_WIDTH)
        return body | {"min_score": least, "sort": STORED_ORDER, "track_scores": True}

    def radial(self, vector: FloatArray, least: float) -> Body | None:
        """A page of passages with an indexed span at or above a score; ids only, in stored order.

        None if the engine has no such search.

        Radial search follows the graph only while it meets spans of about that score, so it misses
        whole regions in which they are rare: docs/notebook/2026-11-opensearch-search.md, "Mining".
        """
        if self.settings.engine.radial is None:
            return None
        query = self._nested(vector, self.settings.engine.radial, least)
        return PLACES | {"size": GRAPH_WIDTH, "query": query, "sort": STORED_ORDER}

    def bm25(self, phrase: str, size: int) -> Body:
        """The passages with the highest BM25; ids and scores only."""
        return self._matching(self.terms(phrase), size)

    def verbatim(self, phrase: str, size: int) -> Body:
        """The passages with the terms close together, in roughly this order; ids only."""
        close = {"match_phrase": {"reading": {"query": phrase, "slop": PHRASE_SLOP}}}
        return self._matching(close, size)

    def ranking(
        self, num_candidates: int, nearest: int = 0, depth: int = GRAPH_WIDTH
    ) -> list[Body]:
        """`SEARCHES` per phrase: the ``num_candidates`` best by vector, by BM25, and as phrase.

        ``nearest`` are the passages by vector, if more; for ``depth`` see `dense`.
        """
        return [
            body
            for text, vector in zip(self.texts, self.query.phrases.vectors, strict=True)
            for body in (
                self.dense(vector, max(num_candidates, nearest), depth),
                self.bm25(text, num_candidates),
                self.verbatim(text, num_candidates),
            )
        ]

    def best(self) -> list[Body]:
        """One search per phrase, for its highest BM25."""
        return [self.bm25(text, 1) for text in self.texts]

    def walk(self) -> Body:
        """A page of all passages in stored order, with vectors, and BM25 as in `fetch`."""
        page = {"size": WALK_PASSAGES, "query": self.scored(self.admitted), "sort": STORED_ORDER}
        return with_content(page | {"track_scores": True})

    def fetch(self, ids: Sequence[str]) -> Body:
        """Passages by id, with their token vectors and the BM25 of the first `batches` by row."""
        return with_content({"size": len(ids), "query": self.scored(by_id(ids))})

    def evidence(self, ids: Sequence[str], rows: Sequence[int]) -> Body:
        """The BM25 of some phrases in passages by id, by row, without anything else."""
        return {"size": len(ids), "query": self.scored(by_id(ids), rows), "_source": False}

    def scored(self, passages: Body, rows: Sequence[int] = ()) -> Body:
        """The query for some passages, with the BM25 of rows of phrases, or the first `batches`."""
        chosen = rows or self.batches()[0]
        return with_bm25(passages, {str(row): self.terms(self.texts[row]) for row in chosen})

    def terms(self, phrase: str) -> Body:
        """Any of the terms; a clause of its own, so that its score is Lucene's BM25 alone."""
        boost = self.settings.engine.boost
        boosted = {"query": phrase, "boost": boost}
        return {"match": {"reading": phrase if boost == 1 else boosted}}

    def batches(self) -> list[list[int]]:
        """Rows of phrases, as many together as a query may name."""
        batches: list[list[int]] = [[]]
        characters = 0
        for row, phrase in enumerate(self.texts):
            characters += len(phrase)
            if characters > NAMED_CHARACTERS and batches[-1]:
                batches.append([])
                characters = len(phrase)
            batches[-1].append(row)
        return batches

    def _matching(self, match: Body, size: int) -> Body:
        query = {"bool": {"must": [match], "filter": list(map(clause, self.query.where))}}
        return PLACES | {"size": size, "query": query}

    def _nested(self, vector: FloatArray, search: Knn, limit: float) -> Body:
        # Inside the clause the filter applies during graph search, so k passages are found.
        conditions = list(map(clause, self.query.where))
        filtered = {"filter": {"bool": {"filter": conditions}}} if conditions else {}
        numbers = index_vectors(vector[None], self.settings)[0].tolist()
        query = search(numbers, limit, filtered)
        return {"nested": {"path": "spans", "score_mode": "max", "query": query}}


def proposal_score(threshold: float) -> float:
    """The least score at which an indexed span proposes its passage, for a threshold.

    The margin allows for spans at the threshold that are not indexed, but similar to one that is.
    Lucene scores a cosine as (1 + cosine) / 2.
    """
    return (1 + threshold - PROPOSAL_MARGIN) / 2


def pieces(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Batches of ids, so that answers stay small, or of anything else."""
    return (items[start : start + size] for start in range(0, len(items), size))


def from_point(body: Body, point: str | None, after: Sequence[Answer] = ()) -> Body:
    """The body for the next page of a search, at a point in time if there is one."""
    page = body | ({"pit": {"id": point, "keep_alive": KEEP_ALIVE}} if point else {})
    return page | {"search_after": after[-1]["sort"]} if after else page


def id_of(hit: Answer) -> str:
    """The id of a passage, from the fields `PLACES`."""
    fields = hit["fields"]
    return passage_key(fields["doc_id"][0], fields["ordinal"][0])


def ids_of(answers: Sequence[Answer]) -> list[str]:
    """Ids of the passages that several searches found, without duplicates."""
    return list(dict.fromkeys(id_of(hit) for answer in answers for hit in answer["hits"]["hits"]))


def places(hits: Iterable[Answer]) -> Iterator[tuple[str, int]]:
    """Document and ordinal of hits of searches sorted by `STORED_ORDER`."""
    return ((hit["sort"][0], hit["sort"][1]) for hit in hits)


def in_stored_order(hits: Iterable[Answer]) -> list[str]:
    """Ids of hits of searches sorted by `STORED_ORDER`, without duplicates."""
    return [passage_key(*place) for place in sorted(set(places(hits)))]


def ranked_best(answers: Sequence[Answer]) -> FloatArray:
    """``(n_phrases,)``, the best BM25 of each phrase, from answers to `Asked.ranking`."""
    return best_bm25(answers[1::SEARCHES])


def best_bm25(answers: Sequence[Answer]) -> FloatArray:
    """``(n_phrases,)``, the best BM25 of each phrase, from answers to `Asked.best`."""
    return np.array([answer["hits"]["max_score"] or 0.0 for answer in answers], dtype=np.float32)


@one_blas_thread()
def candidates(hits: Sequence[Answer], query: Query, best: FloatArray) -> ScoredCandidates:
    """Score the hits of `Asked.fetch` or `Asked.walk`, in stored order."""
    found = sorted(
        ((hit["_id"], stored_passage(hit), named_scores(hit)) for hit in hits),
        key=lambda item: (item[1].doc_id, item[1].encoded.start),
    )
    keys = [key for key, _, _ in found]
    scorers = [PassageScorer(passage.encoded, query) for _, passage, _ in found]
    rows = range(len(query.phrases.texts))
    cosines = [scorer.best_cosines() for scorer in scorers]
    bm25 = [[scores.get(row, 0.0) for row in rows] for _, _, scores in found]
    shape = (len(found), len(rows))
    passages: dict[PassageKey, StoredPassage] = {
        key: replace(passage, norms=scorer.norms)
        for (key, passage, _), scorer in zip(found, scorers, strict=True)
    }
    return ScoredCandidates(
        keys=keys,
        cosines=np.array(cosines, dtype=np.float32).reshape(shape).T,
        bm25=np.array(bm25, dtype=np.float32).reshape(shape).T,
        bm25_best=best,
        load=lambda some: {key: passages[key] for key in some},
    )


def with_evidence(found: ScoredCandidates, hits: Sequence[Answer]) -> ScoredCandidates:
    """The same candidates with the BM25 of further phrases, from `Asked.evidence`."""
    columns = {key: column for column, key in enumerate(found.keys)}
    bm25 = found.bm25.copy()
    for hit in hits:
        for row, score in named_scores(hit).items():
            bm25[row, columns[hit["_id"]]] = score
    return replace(found, bm25=bm25)
