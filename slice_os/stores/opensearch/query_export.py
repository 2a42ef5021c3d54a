"""Query export: requests for applications that query OpenSearch directly, in any language."""

from __future__ import annotations

from typing import Any

from slice_os.query import Query
from slice_os.stores.opensearch import hybrid, search_bodies
from slice_os.stores.opensearch.search_bodies import Body
from slice_os.stores.opensearch.settings import IndexSettings

_SHOWN = {"_source": ["doc_id", "start", "end", "text", "metadata"]}
_BEST_SPAN = {"size": 1, "_source": False, "docvalue_fields": ["spans.start", "spans.end"]}


def search_lines(query: Query, index: str, settings: IndexSettings, size: int) -> list[Body]:
    """Lines of a multi-search: for each phrase, searches by vector, by BM25 and as phrase.

    Unlike the store's own searches, these return the text of each passage, and the offsets of its
    nearest indexed span as an inner hit.
    """
    bodies = [body | _SHOWN for body in search_bodies.ranking(query, settings, size)]
    for body in bodies[:: search_bodies.SEARCHES]:
        body["query"]["nested"]["inner_hits"] = _BEST_SPAN
    return search_bodies.msearch(index, bodies, query)


def export_query(
    query: Query, index: str, settings: IndexSettings, size: int, fuses: bool
) -> dict[str, Any]:
    """Everything that an application needs to search for phrases, as values for JSON.

    Args:
        query: what to look for.
        index: index or alias.
        settings: of the index.
        size: passages that each search returns.
        fuses: whether the server has the ``hybrid`` query.
    """
    path = f"/{index}/_search"
    options = "&".join(f"{name}={value}" for name, value in search_bodies.NAMED_SCORES.items())
    by_id = search_bodies.candidates([], query.phrases.texts)
    by_id["size"] = search_bodies.SEARCHES * size * len(query.phrases.texts)
    fused = [body | _SHOWN for body in hybrid.bodies(query, settings, size)]
    return {
        "phrases": list(query.phrases.texts),
        "vectors": query.phrases.vectors,
        "words": {"min": query.min_words, "max": query.max_words},
        "encoder_id": settings.encoder.encoder_id,
        "msearch": {"path": "/_msearch", "lines": search_lines(query, index, settings, size)},
        "candidates": {"path": f"{path}?{options}", "body": by_id},
        "hybrid": {"path": path, "bodies": fused} if fuses else None,
    }
