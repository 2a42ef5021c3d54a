"""Measure the share of the exact ten best passages among the candidates of an index.

    python benchmarks/candidate_recall.py --url http://127.0.0.1:9200/calls --local calls.slice \
        --phrases dialogues --data ../shared/data --depths 2000 10000 --nearest 400 1000

For each number of passages by vector, depth of the graph search, and number of
candidates: overlap with the local
store's ten best passages by both fusions, the passages that were scored, and the median time of a
search. Scored by the best engine that the node has. Prints a JSON line for each, and appends them
to benchmarks/results/candidate_recall.jsonl under `--name`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import corpora
from server_search import FUSIONS, TOP, Searcher, passages

from slice_os import Corpus, SpanEncoder
from slice_os.stores.cluster.search import server_flows
from slice_os.stores.cluster.search.scripted import Proposals

RESULTS = Path(__file__).parent / "results" / "candidate_recall.jsonl"
scored: list[int] = []


def count_scored() -> None:
    """Note how many passages are worth scoring."""
    chosen = Proposals.worth_scoring

    def counted(*given: Any) -> list[str]:
        ids = chosen(*given)
        scored.append(len(ids))
        return ids

    Proposals.worth_scoring = counted  # type: ignore[method-assign, assignment]


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True)
    parser.add_argument("--local", type=Path, required=True)
    parser.add_argument("--phrases", choices=["contracts", "dialogues"], required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--depths", type=int, nargs="+", default=[server_flows.DEPTH_FOR_SHORT])
    parser.add_argument("--candidates", type=int, nargs="+", default=[400])
    parser.add_argument("--nearest", type=int, nargs="+", default=[server_flows.MOST_NEAREST])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--way", default="native")
    parser.add_argument("--name", required=True)
    chosen = parser.parse_args()
    phrases = getattr(corpora, f"{chosen.phrases[:-1]}_phrases")(chosen.data)[: chosen.count]
    encoder = SpanEncoder()
    with Corpus(chosen.local, encoder) as local:
        truth = {
            fusion: [
                passages(local.search(p, top_k=TOP, fusion=fusion, verify=False)) for p in phrases
            ]
            for fusion in FUSIONS
        }
    count_scored()
    searcher = Searcher(chosen.url, chosen.way, encoder, whole=False)
    for depth in chosen.depths:
        for candidates in chosen.candidates:
            for nearest in chosen.nearest:
                server_flows.DEPTH_FOR_SHORT, server_flows.MOST_NEAREST = depth, nearest
                server_flows.CHEAP_PIECES = 1 << 40
                row: dict[str, Any] = {"name": chosen.name, "depth": depth}
                row |= {"candidates": candidates, "nearest": nearest}
                for fusion in FUSIONS:
                    scored.clear()
                    times, shares = [], []
                    for phrase, best in zip(phrases, truth[fusion], strict=True):
                        began = time.perf_counter()
                        found = searcher.corpus.search(
                            phrase,
                            top_k=TOP,
                            fusion=fusion,
                            num_candidates=candidates,
                            verify=False,
                        )
                        times.append(1000 * (time.perf_counter() - began))
                        shares.append(len(passages(found) & best) / max(1, len(best)))
                    row[fusion] = {
                        "overlap": round(statistics.mean(shares), 4),
                        "p50_ms": round(statistics.median(times), 1),
                        "scored": round(statistics.mean(scored)),
                    }
                print(json.dumps(row), flush=True)
                with RESULTS.open("a") as stream:
                    stream.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
