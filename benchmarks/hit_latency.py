"""Measure what snapping hits to clauses adds to a search, as a ratio within one run.

    python benchmarks/hit_latency.py STORE [STORE ...] --out benchmarks/results/hit_latency.json

A store is a folder or the address of an index. Each phrase is searched for with and without, one
after the other, in turn. Without it, a local store places spans by cosine alone; an index answers
without the token vectors of the page's passages, and nothing is placed. No verifier reads the hits.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

from hit_borders import CONTRACT_PHRASES, DIALOGUE_PHRASES

from slice_os.corpus import Corpus
from slice_os.search.hit_builder import HitBuilder
from slice_os.stores.opensearch.search import searches
from slice_os.stores.opensearch.search.server_flows import ServerFlows

PHRASES = (*DIALOGUE_PHRASES, *CONTRACT_PHRASES)


@contextmanager
def as_before() -> Iterator[None]:
    """Spans by cosine alone; no token vectors from an index."""

    def nothing(*_: Any) -> Any:
        yield from ()
        return ()

    with (
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
    """Median times of a page, and the median of the ratios of searches side by side."""
    before, after = [], []
    for phrase in PHRASES * rounds:
        with as_before():
            before.append(seconds(lambda: corpus.search(phrase, top_k=top_k, verify=False)))  # noqa: B023
        after.append(seconds(lambda: corpus.search(phrase, top_k=top_k, verify=False)))  # noqa: B023
    info = corpus.info()
    return {
        "store": "index" if "://" in location else "local",
        "passages": info.passages,
        "token_vectors": info.pieces,
        "top_k": top_k,
        "searches": len(after),
        "before_ms": round(1000 * median(before), 1),
        "after_ms": round(1000 * median(after), 1),
        "ratio": round(median(b / a for a, b in zip(before, after, strict=True)), 3),
    }


if __name__ == "__main__":
    main()
