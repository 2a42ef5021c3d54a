"""How long a local store takes to rank, by number of token vectors and of phrases.

    python benchmarks/search_latency.py [--demo demo] [--copies 1 4 16]

The demo contracts are encoded once and stored under several names (`--copies`). Times are the
median of `ROUNDS` runs after a warm-up; times per phrase show how far a batch of phrases shares the
reading of vectors. `bm25` is the time of SQLite; `search` is a whole search for ten hits,
encoding of the phrase included; no verifier reads them.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from slice_os import Corpus, Document, SpanEncoder
from slice_os.ingest.passages import encode_documents
from slice_os.search.run import make_query
from slice_os.spans.passages import DocumentPart
from slice_os.stores.backend import NewStore
from slice_os.stores.local.store import LocalStore
from slice_os.stores.registry import create_store, open_store

ROUNDS = 9
PHRASES = [
    "either party may end this agreement at any time",
    "the fee is not refundable",
    "disputes are settled by arbitration",
    "neither side may pass on its rights",
    "keep what you learn secret",
    "the license is exclusive",
    "goods are delivered within thirty days",
    "liability is limited to the price paid",
    "the governing law is that of New York",
    "late payments bear interest",
]


def milliseconds(work: Callable[[], object]) -> float:
    """The median time of some work."""
    work()
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1e3


def build(place: str, encoder: SpanEncoder, parts: list[DocumentPart], copies: int) -> None:
    """A store with several copies of every document."""
    create_store(place, NewStore(encoder.card, 128))
    store = open_store(place)
    with store.writer() as writer:
        for copy in range(copies):
            for part in parts:
                document = replace(part.document, id=f"{part.document.id} {copy}")
                writer.write(replace(part, document=document))
    store.close()


def main() -> None:
    """Print a row for each store."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--demo", type=Path, default=Path("demo"))
    parser.add_argument("--copies", type=int, nargs="+", default=[1, 4, 16])
    options = parser.parse_args()
    encoder = SpanEncoder()
    files = sorted((options.demo / "contracts").glob("*.txt"))
    documents = [Document(path.stem, path.read_text(encoding="utf-8")) for path in files]
    parts = list(encode_documents(documents, encoder))
    one, ten = make_query(encoder, PHRASES[0]), make_query(encoder, PHRASES)
    heads = ("vectors", "passages", "rank 1", "rank 10", "per phrase", "bm25", "search")
    print("".join(f"{head:>12}" for head in heads), " (ms)")
    for copies in options.copies:
        with tempfile.TemporaryDirectory() as place:
            build(f"{place}/store", encoder, parts, copies)
            with Corpus(f"{place}/store", encoder) as corpus:
                store, info = corpus.store, corpus.info()
                assert isinstance(store, LocalStore)
                ids = np.array(store.rank(one, 1).keys)
                times = (
                    milliseconds(lambda store=store: store.rank(one, 1)),
                    milliseconds(lambda store=store: store.rank(ten, 1)),
                    milliseconds(lambda store=store, ids=ids: store._bm25(PHRASES[0], ids)),
                    milliseconds(lambda corpus=corpus: corpus.search(PHRASES[0], verify=False)),
                )
        row = (*times[:2], times[1] / len(PHRASES), *times[2:])
        print(f"{info.pieces:12,}{info.passages:12,}", "".join(f"{value:12.1f}" for value in row))


if __name__ == "__main__":
    main()
