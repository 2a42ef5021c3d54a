"""Measure what comparing checksums adds to searches of a local store.

    python benchmarks/checksums.py --store contracts.slice [--out benchmarks/results/checksums.json]

Each round opens the store twice, with and without the comparison, in changing order, and searches
it several times. Only the first search of an open store compares anything. Prints CPU times.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from statistics import median
from unittest.mock import patch

from slice_os import LocalStore, SpanEncoder
from slice_os.query.query import Query
from slice_os.search.run import make_query, search
from slice_os.stores.local.checksums import CheckedPassages

SEARCHES = 4


def milliseconds(folder: Path, query: Query) -> list[float]:
    """CPU time, of all threads, of each search of a store that has just been opened."""
    store = LocalStore.open(folder)
    times = []
    for _ in range(SEARCHES):
        began = time.process_time()
        search(store, query)
        times.append((time.process_time() - began) * 1000)
    store.close()
    return times


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    query = make_query(SpanEncoder(), "The tenant may end the lease.")
    milliseconds(options.store, query)
    found: dict[str, list[list[float]]] = {"with": [], "without": []}
    for number in range(options.rounds):
        for kind in sorted(found, reverse=bool(number % 2)):
            if kind == "with":
                found[kind].append(milliseconds(options.store, query))
            else:
                with patch.object(CheckedPassages, "damaged", lambda *_: None):
                    found[kind].append(milliseconds(options.store, query))
    store = LocalStore.open(options.store)
    results = {"passages": len(store.rank(query, 1).keys), "pieces": store.info().pieces}
    figures = {
        f"{which}, {kind} checksums": {
            "median": round(median(times), 1),
            "best": round(min(times), 1),
        }
        for kind, rounds in found.items()
        for which, times in (
            ("first search", [each[0] for each in rounds]),
            ("later searches", [one for each in rounds for one in each[1:]]),
        )
    }
    text = json.dumps({**results, "CPU milliseconds": figures}, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
