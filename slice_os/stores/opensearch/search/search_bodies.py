"""Request bodies for OpenSearch, as pure functions; nothing here talks to a server."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from slice_os.arrays import FloatArray
from slice_os.query.query import Query, Where
from slice_os.stores.opensearch.schema.codec import index_vectors
from slice_os.stores.opensearch.schema.settings import IndexSettings
from slice_os.stores.opensearch.search.clauses import clause

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
NEW_POINT = {"keep_alive": KEEP_ALIVE, "allow_partial_pit_creation": "false"}
ALL_SHARDS = {"allow_partial_search_results": "false"}
NAMED_SCORES = {"include_named_queries_score": "true"}

# Reading an id costs more than the search: it is a stored field, beside the large copy of the
# source that the server keeps for recovery. Doc values give the document and ordinal, thus the id.
PLACES = {"stored_fields": "_none_", "docvalue_fields": ["doc_id", "ordinal"]}

T = TypeVar("T")
Body = dict[str, Any]
Answer = dict[str, Any]


def conditions(where: Where) -> list[Body]:
    """Filter clauses for conditions on metadata, as `metadata.resolve_where` returns them."""
    return [clause(condition) for condition in where]


def admitted(where: Where) -> Body:
    """The filter for every passage that a query admits."""
    return {"bool": {"filter": [PASSAGES, *conditions(where)]}}


def by_id(ids: Sequence[str]) -> Body:
    """The filter for some passages."""
    return {"ids": {"values": list(ids)}}


def dense(
    vector: FloatArray, settings: IndexSettings, where: Where, size: int, depth: int = 0
) -> Body:
    """The passages with the span nearest to a phrase; places and scores only.

    Args:
        vector: of the phrase.
        settings: of the index.
        where: filter on passages.
        size: number of passages.
        depth: how many passages the graph is explored for, if more. If many spans are alike, as in
            dialogues, exploring for `size` passages only misses many of the best ones; see
            docs/notebook/2026-11-opensearch-search.md.
    """
    clause: Body = {"vector": _vector(vector, settings), "k": max(size, depth)}
    return PLACES | {"size": size, "query": _nested(clause, where)}


def nearest(vector: FloatArray, settings: IndexSettings, where: Where, least: float) -> Body:
    """At most `GRAPH_WIDTH` nearest passages at or above a score; ids only, in stored order."""
    body = dense(vector, settings, where, GRAPH_WIDTH)
    return body | {"min_score": least, "sort": STORED_ORDER, "track_scores": True}


def radial(vector: FloatArray, settings: IndexSettings, where: Where, least: float) -> Body:
    """A page of passages with an indexed span at or above a score; ids only, in stored order.

    Radial search follows the graph only while it meets spans of about that score, so it misses
    whole regions in which they are rare: docs/notebook/2026-11-opensearch-search.md, "Mining".
    """
    clause: Body = {"vector": _vector(vector, settings), "min_score": least}
    query = _nested(clause, where)
    return PLACES | {"size": GRAPH_WIDTH, "query": query, "sort": STORED_ORDER}


def proposal_score(threshold: float) -> float:
    """The least score at which an indexed span proposes its passage, for a threshold.

    The margin allows for spans at the threshold that are not indexed, but similar to one that is.
    Lucene scores a cosine as (1 + cosine) / 2.
    """
    return (1 + threshold - PROPOSAL_MARGIN) / 2


def bm25(phrase: str, where: Where, size: int) -> Body:
    """The passages with the highest BM25; ids and scores only."""
    query = {"bool": {"must": [terms(phrase)], "filter": conditions(where)}}
    return PLACES | {"size": size, "query": query}


def verbatim(phrase: str, where: Where, size: int) -> Body:
    """The passages with the terms close together, in roughly this order; ids only."""
    close = {"match_phrase": {"text": {"query": phrase, "slop": PHRASE_SLOP}}}
    query = {"bool": {"must": [close], "filter": conditions(where)}}
    return PLACES | {"size": size, "query": query}


def candidates(ids: Sequence[str], phrases: Sequence[str]) -> Body:
    """Passages by id, with their token vectors and the BM25 of the first `batches` by name."""
    return with_content({"size": len(ids), "query": scored(by_id(ids), phrases)})


def evidence(ids: Sequence[str], phrases: Sequence[str], rows: Sequence[int]) -> Body:
    """The BM25 of some phrases in passages by id, by name, without anything else."""
    query = _named(by_id(ids), phrases, rows)
    return {"size": len(ids), "query": query, "_source": False}


def batches(phrases: Sequence[str]) -> list[list[int]]:
    """Rows of phrases, as many together as a query may name."""
    batches: list[list[int]] = [[]]
    characters = 0
    for row, phrase in enumerate(phrases):
        characters += len(phrase)
        if characters > NAMED_CHARACTERS and batches[-1]:
            batches.append([])
            characters = len(phrase)
        batches[-1].append(row)
    return batches


def pieces(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Batches of ids, so that answers stay small, or of anything else."""
    return (items[start : start + size] for start in range(0, len(items), size))


def walk(query: Query) -> Body:
    """A page of all passages in stored order, with vectors, and BM25 as in `candidates`."""
    body: Body = {
        "size": WALK_PASSAGES,
        "query": scored(admitted(query.where), query.phrases.texts),
        "sort": STORED_ORDER,
        "track_scores": True,
    }
    return with_content(body)


def ranking(
    query: Query,
    settings: IndexSettings,
    num_candidates: int,
    nearest: int = 0,
    depth: int = GRAPH_WIDTH,
) -> list[Body]:
    """`SEARCHES` per phrase: the ``num_candidates`` best by vector, by BM25, and as phrase.

    Args:
        query: what to look for.
        settings: of the index.
        num_candidates: passages that each search returns.
        nearest: passages by vector, if those are to be more.
        depth: how many passages the graph is explored for; see `dense`.
    """
    size = max(num_candidates, nearest)
    return [
        body
        for text, vector in zip(query.phrases.texts, query.phrases.vectors, strict=True)
        for body in (
            dense(vector, settings, query.where, size, depth),
            bm25(text, query.where, num_candidates),
            verbatim(text, query.where, num_candidates),
        )
    ]


def best(query: Query) -> list[Body]:
    """One search per phrase, for its highest BM25."""
    return [bm25(text, query.where, 1) for text in query.phrases.texts]


def hybrid(phrase: str, vector: FloatArray, settings: IndexSettings, where: Where, k: int) -> Body:
    """The server's ``hybrid`` query: both rankings in one, for a search pipeline to fuse."""
    queries = [
        dense(vector, settings, where, k, GRAPH_WIDTH)["query"],
        bm25(phrase, where, k)["query"],
    ]
    return PLACES | {"size": k, "query": {"hybrid": {"queries": queries}}}


def msearch(index: str, bodies: Sequence[Body], query: Query) -> list[Body]:
    """Lines of a multi-search: a header before every body."""
    return [line for body in bodies for line in ({"index": index, **steady(query)}, body)]


def steady(query: Query) -> dict[str, str]:
    """Parameters that send equal queries to equal shard copies, so that pages agree."""
    digest = hashlib.sha256("\0".join(query.phrases.texts).encode()).hexdigest()
    return {"preference": digest[:16], **ALL_SHARDS}


def from_point(body: Body, point: str, after: Sequence[Answer] = ()) -> Body:
    """The body for the next page of a search at a point in time."""
    page = body | {"pit": {"id": point, "keep_alive": KEEP_ALIVE}}
    return page | {"search_after": after[-1]["sort"]} if after else page


def terms(phrase: str) -> Body:
    """Any of the terms; a clause of its own, so that its score is BM25 alone."""
    return {"match": {"text": phrase}}


def scored(admitted: Body, phrases: Sequence[str]) -> Body:
    """The query for some passages, with the BM25 of the first `batches` by row."""
    return _named(admitted, phrases, batches(phrases)[0])


def _named(admitted: Body, phrases: Sequence[str], rows: Sequence[int]) -> Body:
    named = [{"bool": {"must": [terms(phrases[row])], "_name": str(row)}} for row in rows]
    return {"bool": {"filter": [admitted], "should": named, "minimum_should_match": 0}}


def _vector(vector: FloatArray, settings: IndexSettings) -> list[float]:
    numbers: list[float] = index_vectors(vector[None], settings)[0].tolist()
    return numbers


def _nested(clause: Body, where: Where) -> Body:
    # Inside the clause the filter applies during graph search, so k passages are found.
    if where:
        clause["filter"] = {"bool": {"filter": conditions(where)}}
    return {
        "nested": {"path": "spans", "score_mode": "max", "query": {"knn": {"spans.vec": clause}}}
    }


def with_content(body: Body) -> Body:
    """The search with the text, metadata and token vectors of what it finds."""
    return body | {
        "_source": SHOWN,
        "docvalue_fields": ["tokens"],
    }
