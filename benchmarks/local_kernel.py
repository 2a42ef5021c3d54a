"""Compare the exact scores of a local store with reading its token vectors once.

    python benchmarks/local_kernel.py --data ../shared/data --out results.json

Real passages, of contracts (CUAD) and dialogues (SGD), are encoded once and stored as documents of
their own, each round in another random order, until the store has ``--tokens`` token vectors.
Reading is the fastest way that NumPy has: the maximum of the vectors' file as 64-bit integers, in
64 MB blocks by as many threads as scoring uses; the sum, which is slower, is given beside it.
Everything is in the page cache. Rounds alternate between all measurements; times are milliseconds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from corpora import contract_phrases, dialogue_phrases, write_contracts, write_dialogues

from slice_os import Corpus, Document, SpanEncoder
from slice_os.query.query import Query
from slice_os.search.run import make_query, mine, search
from slice_os.spans.passages import DocumentPart, EncodedPassage
from slice_os.stores.local.snapshot import passage_cosines
from slice_os.stores.local.store import LocalStore
from slice_os.threads import usable_cores

CONTRACTS = 20
DIALOGUES = 1_000
BLOCK = 1 << 23
SEED = 0


def build(folder: Path, data: Path, encoder: SpanEncoder, tokens: int) -> LocalStore:
    """A store of at least that many token vectors, all of them of real passages."""
    contracts = write_contracts(data, folder)
    few = contracts.read_text(encoding="utf-8").splitlines(keepends=True)[:CONTRACTS]
    contracts.write_text("".join(few), encoding="utf-8")
    dialogues = write_dialogues(data, folder, DIALOGUES)
    with Corpus(folder / "real", encoder) as corpus:
        corpus.ingest([contracts, dialogues])
        store = corpus.store
        assert isinstance(store, LocalStore)
        everything = store.rank(make_query(encoder, "any"), 1)
        passages = list(everything.load(everything.keys).values())
    large = LocalStore.create(folder / "large", encoder.card, 128)
    shuffle = np.random.default_rng(SEED).permutation
    order = (int(at) for _ in count() for at in shuffle(len(passages)))
    stored = number = 0
    with large.writer() as writer:
        while stored < tokens:
            found = passages[next(order)]
            encoded = found.encoded
            words = encoded.words - np.array([encoded.start, encoded.start, 0, 0])
            part = EncodedPassage(0, len(found.text), words, encoded.vectors)
            writer.write(DocumentPart(Document(str(number), found.text), (part,), last=True))
            stored += len(encoded.vectors)
            number += 1
    return large


def reader(path: Path, reduce: Callable[[Any], Any]) -> Callable[[], None]:
    """Reads a file once, with all threads."""
    numbers = np.memmap(path, np.int64, "r", shape=path.stat().st_size // 8).view(np.ndarray)
    starts = range(0, len(numbers), BLOCK)
    executor = ThreadPoolExecutor(usable_cores())

    def read() -> None:
        list(executor.map(lambda start: reduce(numbers[start : start + BLOCK]), starts))

    return read


def measure(works: dict[str, Callable[[], Any]], rounds: int) -> dict[str, dict[str, float]]:
    """Median and best time of each, in rounds over all."""
    times: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds + 1):
        for name, work in works.items():
            began = time.perf_counter()
            work()
            times[name].append((time.perf_counter() - began) * 1e3)
    return {
        name: {"median": round(statistics.median(all_[1:]), 1), "best": round(min(all_[1:]), 1)}
        for name, all_ in times.items()
    }


def main() -> None:
    """Print the figures, and save them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--store", type=Path, help="keep the store here, and use it if it exists")
    parser.add_argument("--tokens", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    encoder = SpanEncoder()
    phrases = contract_phrases(options.data)[:15] + dialogue_phrases(options.data)[:15]
    with tempfile.TemporaryDirectory() as place:
        folder = options.store or Path(place)
        if (folder / "large").exists():
            store = LocalStore.open(folder / "large", encoder.card)
        else:
            folder.mkdir(exist_ok=True)
            store = build(folder, options.data, encoder, options.tokens)
        one, many = make_query(encoder, phrases[0]), make_query(encoder, phrases)
        snapshot = store._snapshot()
        table, arrays = snapshot.table, snapshot.arrays
        vectors = store.folder / "vectors.i8"
        threshold = encoder.card.threshold
        works = {
            "read (max)": reader(vectors, np.maximum.reduce),
            "read (sum)": reader(vectors, np.add.reduce),
            "cosines, 1 phrase": lambda: passage_cosines(table, arrays, one),
            "cosines, 30 phrases": lambda: passage_cosines(table, arrays, many),
            "search, 1 phrase": lambda: search(store, one),
            "search, 30 phrases": lambda: search(store, many),
            "mine, 1 phrase": lambda: list(mine(store, one, threshold=threshold)),
            "mine, 30 phrases": lambda: list(mine(store, many, threshold=threshold)),
        }
        milliseconds = measure(works, options.rounds)
        best = {name: each["best"] for name, each in milliseconds.items()}
        info = store.info()
        with ProcessPoolExecutor(1, get_context("spawn")) as executor:
            mapped, added = executor.submit(memory, store.folder, many).result()
        results = {
            "tokens": info.pieces,
            "passages": info.passages,
            "threads": usable_cores(),
            "milliseconds": milliseconds,
            "ratios of best times": {
                "1 phrase to reading (max)": round(
                    best["cosines, 1 phrase"] / best["read (max)"], 2
                ),
                "1 phrase to reading (sum)": round(
                    best["cosines, 1 phrase"] / best["read (sum)"], 2
                ),
                "30 phrases to 1": round(
                    best["cosines, 30 phrases"] / best["cosines, 1 phrase"], 2
                ),
            },
            "bytes": {path.name: path.stat().st_size for path in sorted(store.folder.iterdir())},
            "bytes per token": round(info.size_bytes / info.pieces, 1),
            "memory, MB, mapped files": round(mapped),
            "memory, MB, added by 30 phrases": round(added),
        }
    text = json.dumps(results, indent=1)
    print(text)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")


def memory(folder: Path, query: Query) -> tuple[float, float]:
    """The memory of a fresh process for the files, and what scoring adds to its peak, in MB."""
    store = LocalStore.open(folder)
    snapshot = store._snapshot()
    table, arrays = snapshot.table, snapshot.arrays
    before = peak_megabytes()
    for files, rows in ((arrays.by_piece, table.n_pieces), (arrays.by_word, table.n_words)):
        for file in files:
            file.view(int(rows.sum())).max()
    mapped = peak_megabytes()
    passage_cosines(table, arrays, query)
    return mapped - before, peak_megabytes() - mapped


def peak_megabytes() -> float:
    """Peak resident memory of this process, as Linux counts it since the process began."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) / 1e3


if __name__ == "__main__":
    main()
