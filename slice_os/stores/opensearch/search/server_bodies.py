"""Request bodies that let the server score passages; see `scripting`. Pure functions."""

from __future__ import annotations

from slice_os.query.query import Query, Where
from slice_os.stores.opensearch.search import search_bodies
from slice_os.stores.opensearch.search.scripting import Script, ScriptEngine, Weights
from slice_os.stores.opensearch.search.search_bodies import STORED_ORDER, Body

# OpenSearch's index.max_result_window.
LARGEST_ANSWER = 10_000
# Passages without a hit score 0.
LEAST_SCORE = 1e-6
SCAN_WEIGHT = 0.5
SPAN = "span"


def count(where: Where) -> Body:
    """Count the passages that a query admits."""
    return {"size": 0, "track_total_hits": True, "query": search_bodies.admitted(where)}


def measure() -> Body:
    """Count all passages, and their token vectors on average."""
    return count(()) | {"aggs": {"pieces": {"avg": {"field": "n_pieces"}}}}


def best(
    query: Query,
    row: int,
    passages: Body,
    engine: ScriptEngine,
    weights: Weights,
    span: tuple[int, int],
) -> Body:
    """The best passages for one phrase, each with its text and its best span.

    Args:
        query: what to look for.
        row: the phrase's row in the query.
        passages: the filter for those to score.
        engine: that runs the scripts.
        weights: how cosine and BM25 make a score.
        span: hits to skip, and hits to return.
    """
    vector = query.phrases.vectors[row]
    scored = search_bodies.scored(passages, [query.phrases.texts[row]])
    body = _by_script(scored, engine.best_span(vector[None], query, weights)) | {
        "from": span[0],
        "size": span[1],
        "sort": [{"_score": "desc"}, *STORED_ORDER],
        "_source": search_bodies.SHOWN,
        "script_fields": {SPAN: {"script": engine.place_span(vector, query)}},
    }
    return body | ({"min_score": LEAST_SCORE} if weights.threshold > -1 else {})


def cosines(query: Query, row: int, passages: Body, engine: ScriptEngine) -> Body:
    """The best cosine of each passage for one phrase, as its score less 1."""
    script = engine.best_span(query.phrases.vectors[row : row + 1], query, Weights())
    return _by_script(passages, script) | _places() | {"track_scores": True}


def bm25(query: Query, row: int, passages: Body) -> Body:
    """The BM25 of the passages that have a term of a phrase."""
    terms = search_bodies.terms(query.phrases.texts[row])
    found = {"bool": {"must": [terms], "filter": [passages]}}
    return {"query": found, "track_scores": True} | _places()


def scan(query: Query, passages: Body, engine: ScriptEngine, threshold: float) -> Body:
    """Passages with a span at or above the threshold for any of the phrases."""
    weights = Weights(cosine=SCAN_WEIGHT, threshold=threshold)
    script = engine.best_span(query.phrases.vectors, query, weights)
    return _by_script(passages, script) | _places() | {"min_score": LEAST_SCORE}


def _by_script(passages: Body, script: Script) -> Body:
    return {"query": {"script_score": {"query": passages, "script": script}}}


def _places() -> Body:
    """As many passages as an answer may have, by place alone."""
    return {"size": LARGEST_ANSWER, "stored_fields": "_none_", "sort": STORED_ORDER}
