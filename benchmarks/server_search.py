"""Searches scored on the server: overlap with the exact local store, latency, bytes received.

    python benchmarks/server_search.py --url http://127.0.0.1:9200/contracts \
        --local contracts.slice --phrases contracts --data ../shared/data

The index and the local store hold the same documents (`benchmarks/copy_store.py` copies one into
the other). Every way to search runs in turn in one process, on the same index and node:

- `native`, `painless`: two requests, scored by a script;
- `client`: token vectors are fetched and scored in the client, as it is if scripts are refused;
- `before`: the same as it was up to schema 1, with ids read from `_id` and k = 10,000;
- `knn`: a bare knn query with k = 100 that returns places by doc values, for comparison.

No verifier reads the hits. Overlap is the mean share of the local store's ten best passages found.
Bytes are those of the answers, as sent. With `--clients 4 16` several processes ask at once. Saves
JSON to benchmarks/results/server_search_<phrases>.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import corpora
from timing import percentiles, timed
from urllib3.response import HTTPResponse

from slice_os import Corpus, Hits, SpanEncoder
from slice_os.search.run import make_query
from slice_os.stores.cluster.search import searches
from slice_os.stores.cluster.search.scripted import NATIVE, PAINLESS
from slice_os.stores.cluster.store import OpenSearchStore

RESULTS = Path(__file__).parent / "results"
TOP = 10
FUSIONS = ("convex", "cosine")
WAYS = ("knn", "native", "painless", "client", "before")
received = 0


def count_bytes() -> None:
    """Count the bytes of every answer, before they are decompressed."""
    read = HTTPResponse.read

    def counted(self: HTTPResponse, *given: Any, **options: Any) -> bytes:
        global received
        data: bytes = read(self, *given, **options)
        received += len(data)
        return data

    HTTPResponse.read = counted  # type: ignore[method-assign]


@contextmanager
def as_before() -> Iterator[None]:
    """Searches as they were up to schema 1."""
    kept = searches.PLACES, searches.id_of
    searches.PLACES = {"_source": False}  # type: ignore[dict-item]
    searches.id_of = lambda hit: hit["_id"]
    try:
        yield
    finally:
        searches.PLACES, searches.id_of = kept


class Searcher:
    """One index, searched in one of `WAYS`.

    Args:
        location: of the index.
        way: how.
        encoder: of the index.
        whole: score every passage, whatever the index's size; False for never.
    """

    def __init__(self, location: str, way: str, encoder: SpanEncoder, whole: bool | None) -> None:
        self.way, self.encoder = way, encoder
        self.corpus = Corpus(location, encoder)
        store = self.corpus.store
        assert isinstance(store, OpenSearchStore)
        self.store = store
        engine = store.script_engine(make_query(encoder, "warm up"))
        if way in ("client", "before"):
            store._server._engine = None
        elif way != "knn":
            chosen = {"native": NATIVE, "painless": PAINLESS}[way]
            if way == "native" and engine is not None and engine.lang != NATIVE.lang:
                raise SystemExit("the node has no native engine")
            if whole is not None:
                chosen = replace(chosen, exhaustive_pieces=1 << 40 if whole else 0)
            store._server._engine = chosen

    def search(self, phrase: str, fusion: str) -> Hits | None:
        """The best passages."""
        if self.way == "knn":
            query = make_query(self.encoder, phrase)
            asked = searches.Asked(self.store.settings, query)
            body = asked.dense(query.phrases.vectors[0], 100)
            self.store.handle.client.search(index=self.store.handle.name, body=body)
            return None
        if self.way == "before":
            with as_before():
                return self.corpus.search(phrase, top_k=TOP, fusion=fusion, verify=False)
        return self.corpus.search(phrase, top_k=TOP, fusion=fusion, verify=False)


def times(work: Callable[[str], object], phrases: list[str]) -> dict[str, float]:
    """Milliseconds of some work for every phrase."""
    return percentiles(timed(work, phrases)[1])


def passages(hits: Hits | None) -> set[tuple[str, int]]:
    """The passages that contain hits."""
    return {(hit.doc_id, hit.passage.start) for hit in hits or ()}


def one_client(work: tuple[str, str, list[str], bool | None]) -> list[float]:
    """Milliseconds of every search of one of several clients."""
    location, way, phrases, whole = work
    searcher = Searcher(location, way, SpanEncoder(), whole)
    searcher.search("warm up", "convex")
    return timed(lambda phrase: searcher.search(phrase, "convex"), phrases)[1]


def several(location: str, way: str, phrases: list[str], clients: int, whole: bool | None) -> Any:
    """Latency and throughput of several clients at once."""
    began = time.perf_counter()
    with ProcessPoolExecutor(clients) as pool:
        parts = [phrases[client:] + phrases[:client] for client in range(clients)]
        work = [(location, way, part, whole) for part in parts]
        found = [value for values in pool.map(one_client, work) for value in values]
    return {
        **percentiles(found),
        "searches": len(found),
        "seconds_with_start": round(time.perf_counter() - began, 1),
    }


def main() -> None:
    """Run it."""
    global received
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True)
    parser.add_argument("--local", type=Path, required=True)
    parser.add_argument("--phrases", choices=["contracts", "dialogues"], required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--ways", nargs="+", default=WAYS)
    parser.add_argument("--clients", type=int, nargs="*", default=[])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--whole", choices=["always", "never"])
    chosen = parser.parse_args()
    whole = {None: None, "always": True, "never": False}[chosen.whole]
    phrases = getattr(corpora, f"{chosen.phrases[:-1]}_phrases")(chosen.data)[: chosen.count]
    encoder = SpanEncoder()
    count_bytes()
    with Corpus(chosen.local, encoder) as local:
        info = local.info()
        truth = {
            fusion: [
                passages(local.search(p, top_k=TOP, fusion=fusion, verify=False)) for p in phrases
            ]
            for fusion in FUSIONS
        }
        ours = times(lambda phrase: local.search(phrase, top_k=TOP, verify=False), phrases)
    report: dict[str, Any] = {
        "tokens": info.pieces,
        "passages": info.passages,
        "phrases": len(phrases),
        "local": ours,
        "ways": {},
    }
    for way in chosen.ways:
        searcher = Searcher(chosen.url, way, encoder, whole)
        for phrase in phrases[:3]:
            searcher.search(phrase, "convex")
        before = received
        row: dict[str, Any] = {**times(partial(searcher.search, fusion="convex"), phrases)}
        row["bytes"] = round((received - before) / len(phrases))
        for fusion in FUSIONS if way != "knn" else ():
            found = [searcher.search(phrase, fusion) for phrase in phrases]
            row["exhaustive"] = bool(found[0] and found[0].exhaustive)
            shares = [
                len(passages(hits) & best) / max(1, len(best))
                for hits, best in zip(found, truth[fusion], strict=True)
            ]
            row[f"overlap_{fusion}"] = round(statistics.mean(shares), 4)
        for clients in chosen.clients:
            row[f"clients_{clients}"] = several(chosen.url, way, phrases[:40], clients, whole)
        report["ways"][way] = row
        print(way, json.dumps(row), flush=True)
    suffix = f"_{chosen.whole}" if chosen.whole else ""
    out = RESULTS / f"server_search_{chosen.phrases}{suffix}.json"
    out.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
