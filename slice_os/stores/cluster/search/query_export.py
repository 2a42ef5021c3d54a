"""Query export: requests for applications that query OpenSearch directly, in any language."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from slice_os.errors import InputError
from slice_os.query.fusion import convex
from slice_os.query.query import Query
from slice_os.stores.cluster.schema.settings import IndexSettings
from slice_os.stores.cluster.search import hybrid, scripted, searches
from slice_os.stores.cluster.search.scripted import ScriptEngine, Weights
from slice_os.stores.cluster.search.searches import Asked, Body

_BEST_SPAN = {"size": 1, "_source": False, "docvalue_fields": ["spans.start", "spans.end"]}
_SCRIPT = "/query/script_score/script/params"
_FILTER = "/query/script_score/query/bool/filter/0"


def search_lines(query: Query, index: str, settings: IndexSettings, size: int) -> list[Body]:
    """Lines of a multi-search: for each phrase, searches by vector, by BM25 and as phrase.

    Unlike the store's own searches, these return the text of each passage, and the offsets of its
    nearest indexed span as an inner hit.
    """
    asked = Asked(settings, query)
    bodies = list(map(_shown, asked.ranking(size)))
    for body in bodies[:: searches.SEARCHES]:
        body["query"]["nested"]["inner_hits"] = _BEST_SPAN
    return asked.msearch(index, bodies)


def export_query(
    query: Query,
    index: str,
    settings: IndexSettings,
    size: int,
    engine: ScriptEngine | None,
    fuses: bool,
) -> dict[str, Any]:
    """Everything that an application needs to search for phrases, as values for JSON.

    Args:
        query: what to look for.
        index: index or alias.
        settings: of the index.
        size: passages that each search returns.
        engine: of the server; None if it does not score.
        fuses: whether the server has the ``hybrid`` query.

    Raises an `InputError` if the server does not score, and the phrases together are too long.
    """
    asked, path = Asked(settings, query), f"/{index}/_search"
    with_bm25 = f"{path}?{urlencode(searches.NAMED_SCORES | asked.steady)}"
    candidates = asked.msearch(index, asked.ranking(size))
    exported = {
        "phrases": list(asked.texts),
        "vectors": query.phrases.vectors,
        "words": {"min": query.min_words, "max": query.max_words},
        "encoder_id": settings.encoder.encoder_id,
        "candidates": {"path": "/_msearch", "lines": candidates},
        "scored": None,
        "tokens": None,
        "hybrid": None,
    }
    if engine is not None:
        weights = Weights(convex.cosine)
        nothing = searches.by_id([])
        has_span = {"min_score": scripted.LEAST_SCORE}
        exported["scored"] = {
            "path": with_bm25,
            "bodies": [
                scripted.best(asked, row, nothing, engine, weights, (0, 10)) | has_span
                for row in asked.rows
            ],
            "fill": {"ids": f"{_FILTER}/ids/values", "bm25_weight": f"{_SCRIPT}/bm25_weight"},
            "bm25_weight": convex.bm25,
        }
    else:
        if len(asked.batches()) > 1:
            raise InputError(
                f"phrases: together longer than {searches.NAMED_CHARACTERS} characters, more "
                "than one query may name; export several queries"
            )
        by_id = asked.fetch([])
        by_id["size"] = searches.SEARCHES * size * len(asked.rows)
        exported["tokens"] = {"path": with_bm25, "body": by_id}
    if fuses:
        fused = list(map(_shown, hybrid.bodies(asked, size)))
        for body in fused:
            body["query"]["hybrid"]["queries"][0]["nested"]["inner_hits"] = _BEST_SPAN
        exported["hybrid"] = {"path": path, "bodies": fused}
    return exported


def _shown(body: Body) -> Body:
    """The search with what an application shows, in place of ids from doc values."""
    rest = {key: value for key, value in body.items() if key not in searches.PLACES}
    return rest | {"_source": searches.SHOWN}
