"""Request bodies for OpenSearch, as pure functions; nothing here talks to a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from slice_os.quantisation import quantise
from slice_os.spans import FloatArray
from slice_os.stores.base import Where
from slice_os.stores.opensearch.settings import IndexSettings

PHRASE_SLOP = 2

Body = dict[str, Any]


def index_vectors(vectors: FloatArray, settings: IndexSettings) -> npt.NDArray[Any]:
    """Unit vectors as the index's ``vec`` field takes them: projected, then cut to bytes.

    Cosine does not see lengths, so each byte vector has a scale of its own.

    Args:
        vectors: ``(n, dimension)`` unit rows.
        settings: of the index.

    Returns:
        ``(n, settings.dimensions)`` int8 or float32.
    """
    short = vectors if settings.axes is None else vectors @ settings.axes[: settings.dimensions].T
    return quantise(short)[0] if settings.vectors == "byte" else short


def conditions(where: Where) -> list[Body]:
    """Filter clauses for metadata fields that each have one of some values."""
    return [{"terms": {f"metadata.{name}": list(values)}} for name, values in where.items()]


def dense(vector: FloatArray, settings: IndexSettings, where: Where, k: int) -> Body:
    """The ``k`` passages with the span nearest to a phrase; ids and scores only."""
    clause: Body = {"vector": _vector(vector, settings), "k": k}
    return {"size": k, "_source": False, "query": _nested(clause, where)}


def radial(vector: FloatArray, settings: IndexSettings, where: Where, cosine: float) -> Body:
    """Passages with a span at or above a cosine, by the index's own radial search.

    Lucene scores cosine similarity as (1 + cosine) / 2.
    """
    clause: Body = {
        "vector": _vector(vector, settings),
        "min_score": (1 + cosine) / 2,
    }
    return {"size": 10_000, "_source": False, "query": _nested(clause, where)}


def bm25(phrase: str, where: Where, size: int) -> Body:
    """The passages with the highest BM25; ids and scores only."""
    query = {"bool": {"must": [_terms(phrase)], "filter": conditions(where)}}
    return {"size": size, "_source": False, "query": query}


def evidence(ids: Sequence[str], phrases: Sequence[str]) -> Body:
    """Passages by id, with their token vectors and the BM25 of each phrase by name."""
    return _with_content(
        {"size": len(ids), "query": _scored({"ids": {"values": list(ids)}}, phrases)}
    )


def walk(phrases: Sequence[str], where: Where, size: int) -> Body:
    """A page of all passages in stored order, with vectors and the BM25 of each phrase."""
    passages = {"bool": {"filter": [{"term": {"kind": "passage"}}, *conditions(where)]}}
    body: Body = {
        "size": size,
        "query": _scored(passages, phrases),
        "sort": [{"doc_id": "asc"}, {"ordinal": "asc"}],
        "track_scores": True,
    }
    return _with_content(body)


def hybrid(phrase: str, vector: FloatArray, settings: IndexSettings, where: Where, k: int) -> Body:
    """The server's own ``hybrid`` query: both rankings in one, for a search pipeline to fuse."""
    queries = [bm25(phrase, where, k)["query"], dense(vector, settings, where, k)["query"]]
    return {"size": k, "_source": False, "query": {"hybrid": {"queries": queries}}}


def _vector(vector: FloatArray, settings: IndexSettings) -> list[float]:
    numbers: list[float] = index_vectors(vector[None], settings)[0].tolist()
    return numbers


def _nested(clause: Body, where: Where) -> Body:
    # Inside the clause the filter holds while the graph is searched, so k passages are found.
    if where:
        clause["filter"] = {"bool": {"filter": conditions(where)}}
    return {
        "nested": {"path": "spans", "score_mode": "max", "query": {"knn": {"spans.vec": clause}}}
    }


def _terms(phrase: str) -> Body:
    """Any of the terms, and more for the phrase in about this order."""
    near = {"query": phrase, "slop": PHRASE_SLOP}
    return {
        "bool": {
            "must": [{"match": {"text": phrase}}],
            "should": [{"match_phrase": {"text": near}}],
        }
    }


def _scored(admitted: Body, phrases: Sequence[str]) -> Body:
    named = [
        {"bool": {"must": [_terms(phrase)], "_name": str(row)}}
        for row, phrase in enumerate(phrases)
    ]
    return {"bool": {"filter": [admitted], "should": named, "minimum_should_match": 0}}


def _with_content(body: Body) -> Body:
    return body | {
        "_source": ["doc_id", "start", "end", "text", "metadata"],
        "docvalue_fields": ["tokens"],
    }
