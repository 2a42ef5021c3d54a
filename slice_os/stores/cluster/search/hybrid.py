"""Fusion on the server, by the neural-search plugin: the ``hybrid`` query and its pipeline."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.query.fusion import BM25_WEIGHT
from slice_os.stores.cluster.search import searches
from slice_os.stores.cluster.search.searches import Answer, Asked, Body, id_of

PLUGIN = "neural-search"


def installed(plugins: Iterable[Mapping[str, Any]]) -> bool:
    """Whether any node has the plugin, by the answer of ``_cat/plugins?format=json``."""
    return any(PLUGIN in plugin["component"] for plugin in plugins)


def pipeline() -> dict[str, Any]:
    """The search pipeline to send along: scores scaled to 0 to 1, then a weighted mean.

    Bounds keep the scale of the cosine, from 0 to 1. Without them, the best hit of every phrase
    would score 1, however poor it is.
    """
    bounds = {
        "lower_bounds": [{"mode": "apply", "min_score": least} for least in (0.5, 0.0)],
        "upper_bounds": [{"mode": "apply", "max_score": 1.0}, {"mode": "ignore"}],
    }
    weights = {"weights": [1 - BM25_WEIGHT, BM25_WEIGHT]}
    processor = {
        "normalization": {"technique": "min_max", "parameters": bounds},
        "combination": {"technique": "arithmetic_mean", "parameters": weights},
    }
    return {"phase_results_processors": [{"normalization-processor": processor}]}


def bodies(asked: Asked, num_candidates: int) -> list[Body]:
    """One search per phrase, for the ``num_candidates`` passages that the server ranks first.

    Its ``hybrid`` query has both rankings of `Asked.ranking`, for the pipeline to fuse.
    """
    rankings = searches.pieces(asked.ranking(num_candidates), searches.SEARCHES)
    both = [{"queries": [dense["query"], bm25["query"]]} for dense, bm25, _ in rankings]
    page = searches.PLACES | {"size": num_candidates}
    return [page | {"query": {"hybrid": one}, "search_pipeline": pipeline()} for one in both]


def scores(answers: Sequence[Answer], ids: Sequence[str]) -> FloatArray:
    """The server's scores of passages, from one answer per phrase.

    Returns ``(n_phrases, n_passages)``, ``-inf`` if a phrase's answer lacks the passage.
    """
    by_id = [{id_of(hit): hit["_score"] for hit in answer["hits"]["hits"]} for answer in answers]
    rows = [[found.get(key, -np.inf) for key in ids] for found in by_id]
    return np.array(rows, dtype=np.float32).reshape(len(answers), len(ids))
