"""Measure what whole clauses add to a search, as ratios within one run.

    python benchmarks/hit_latency.py STORE [STORE ...] --out benchmarks/results/hit_latency.json

A store is a folder or the address of an index. Each phrase is searched for by cosine alone, at
borders, and in whole clauses, in turn. By cosine alone, an index answers without the token vectors
of the page's passages, and nothing is placed. No verifier reads the hits.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

from hit_borders import CONTRACT_PHRASES, DIALOGUE_PHRASES

from slice_os.corpus import Corpus
from slice_os.search.hit_builder import HitBuilder
from slice_os.stores.cluster.search import searches
from slice_os.stores.cluster.search.server_flows import ServerFlows

PHRASES = (*DIALOGUE_PHRASES, *CONTRACT_PHRASES)


@contextmanager
def at_borders() -> Iterator[None]:
    """Spans at borders, not made whole."""
    with patch.object(HitBuilder, "_clause", lambda *_: None):
        yield


@contextmanager
def by_cosine() -> Iterator[None]:
    """Spans by cosine alone; no token vectors from an index."""

    def nothing(*_: Any) -> Any:
        yield from ()
        return ()

    with (
        at_borders(),
        patch.object(HitBuilder, "_borders", None),
        patch.object(searches, "with_content", lambda body: body),
        patch.object(ServerFlows, "_load", nothing),
    ):
        yield


def seconds(search: Callable[[], object]) -> float:
    """The time of one search."""
    began = time.perf_counter()
    search()
    return time.perf_counter() - began


def main() -> None:
    """Compare, store by store."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stores", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    results = []
    for location in options.stores:
        with Corpus(location) as corpus:
            for top_k in (10, 100):
                results.append(compared(corpus, location, top_k, options.rounds))
                print(results[-1], flush=True)
    if options.out:
        options.out.write_text(json.dumps(results, indent=1) + "\n")


def compared(corpus: Corpus, location: str, top_k: int, rounds: int) -> dict[str, Any]:
    """Median times of a page, and medians of the ratios of searches side by side."""
    ways: dict[str, Callable[[], AbstractContextManager[None]]]
    ways = {"cosine": by_cosine, "borders": at_borders, "clauses": nullcontext}
    times: dict[str, list[float]] = {name: [] for name in ways}
    for phrase in PHRASES * rounds:
        for name, way in ways.items():
            with way():
                took = seconds(lambda: corpus.search(phrase, top_k=top_k, verify=False))  # noqa: B023
            times[name].append(took)

    def ratio(former: str) -> float:
        pairs = zip(times[former], times["clauses"], strict=True)
        return round(median(after / before for before, after in pairs), 3)

    info = corpus.info()
    return {
        "store": "index" if "://" in location else "local",
        "passages": info.passages,
        "token_vectors": info.pieces,
        "top_k": top_k,
        "searches": len(times["clauses"]),
        **{f"{name}_ms": round(1000 * median(found), 1) for name, found in times.items()},
        "clauses_to_cosine": ratio("cosine"),
        "clauses_to_borders": ratio("borders"),
    }


if __name__ == "__main__":
    main()
