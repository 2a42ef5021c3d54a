"""Measure how mining time grows with the number of phrases: on the server, and here.

    python benchmarks/mine_phrases.py --url http://127.0.0.1:9200/contracts --data ../shared/data

No verifier reads the hits. Saves JSON to benchmarks/results/mine_phrases.json.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import corpora

from slice_os import Corpus, SpanEncoder
from slice_os.search.run import make_query
from slice_os.stores.cluster.search.scripted import NATIVE, PAINLESS
from slice_os.stores.cluster.store import OpenSearchStore

RESULTS = Path(__file__).parent / "results" / "mine_phrases.json"


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--phrases", type=int, nargs="+", default=[1, 10, 40, 90])
    parser.add_argument("--threshold", type=float, default=0.8)
    chosen = parser.parse_args()
    encoder = SpanEncoder()
    phrases = corpora.contract_phrases(chosen.data)
    rows: list[Any] = []
    with Corpus(chosen.url, encoder) as corpus:
        store = corpus.store
        assert isinstance(store, OpenSearchStore)
        store.script_engine(make_query(encoder, "warm up"))
        for number in chosen.phrases:
            row: dict[str, Any] = {"phrases": number}
            for name, engine in (("native", NATIVE), ("painless", PAINLESS), ("client", None)):
                store._server._engine = engine and replace(engine, scan_phrases=1 << 30)
                began = time.perf_counter()
                hits = corpus.mine(phrases[:number], threshold=chosen.threshold, verify=False)
                row[name] = round(time.perf_counter() - began, 2)
                row["hits"] = len(hits)
            rows.append(row)
            print(json.dumps(row), flush=True)
    RESULTS.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
