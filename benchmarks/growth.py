"""Measure how search time grows with the number of token vectors, in both stores.

    python benchmarks/growth.py --url http://127.0.0.1:9200 --local contracts.slice \
        --data ../shared/data --tokens 10000 100000 1000000 5000000

Both stores hold the same passages, copied from a local store, several times under other ids if it
has too few. `--there contracts contracts.slice http://127.0.0.1:9200/contracts` adds a store and an
index that are there already, with phrases for contracts or dialogues. Saves JSON to
benchmarks/results/growth.json, and a plot to docs/growth.svg.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import corpora
from timing import percentiles, timed

from slice_os import Corpus, IndexOptions, LocalStore, SpanEncoder
from slice_os.search.run import make_query
from slice_os.spans.passages import DocumentPart
from slice_os.stores.cluster.loading import copies
from slice_os.stores.cluster.search.scripted import NATIVE, PAINLESS
from slice_os.stores.cluster.store import OpenSearchStore

HERE = Path(__file__).parent
WARM_UP = 3


def some(store: LocalStore, tokens: int) -> Iterator[DocumentPart]:
    """Documents with that many token vectors."""
    left = tokens
    for number in count():
        for part in store.stored_documents():
            if left <= 0:
                return
            left -= sum(len(passage.vectors) for passage in part.passages)
            yield replace(part, document=replace(part.document, id=f"{part.document.id} {number}"))


def fill(
    location: str,
    parts: Iterator[DocumentPart],
    encoder: SpanEncoder,
    options: IndexOptions | None = None,
) -> dict[str, Any]:
    """Write passages into a store; without options, an index has one shard and no replica."""
    began = time.perf_counter()
    with Corpus(location, encoder, index=options or IndexOptions(replicas=0)) as corpus:
        with corpus._for_writing().writer() as writer:
            for part in parts:
                assert not writer.write(part)
            assert not writer.flush()
        info = corpus.info()
        store = corpus.store
        if isinstance(store, OpenSearchStore):
            wait_for_merges(store)
    return {"tokens": info.pieces, "seconds": round(time.perf_counter() - began, 1)}


def wait_for_merges(store: OpenSearchStore) -> None:
    """Wait until the server has done what merging it does by itself."""
    indices = store.handle.client.indices
    while indices.stats(index=store.handle.name, metric="merge")["_all"]["total"]["merges"][
        "current"
    ]:
        time.sleep(1)


def latency(corpus: Corpus, phrases: list[str]) -> dict[str, Any]:
    """Milliseconds of a search."""
    for phrase in phrases[:WARM_UP]:
        corpus.search(phrase, verify=False)
    found, milliseconds = timed(lambda phrase: corpus.search(phrase, verify=False), phrases)
    return {**percentiles(milliseconds), "exhaustive": found[-1].exhaustive}


def measure(
    url: str, source: LocalStore, encoder: SpanEncoder, tokens: int, phrases: list[str]
) -> Any:
    """One size in both stores."""
    folder = Path(tempfile.mkdtemp())
    row: dict[str, Any] = fill(str(folder / "s"), some(source, tokens), encoder)
    with Corpus(folder / "s", encoder) as corpus:
        row["local"] = latency(corpus, phrases)
    shutil.rmtree(folder)
    location = f"{url}/growth-{tokens}"
    row["indexing_seconds"] = fill(location, some(source, tokens), encoder)["seconds"]
    row |= index_latency(location, encoder, phrases)
    with Corpus(location, encoder) as corpus:
        store = corpus.store
        assert isinstance(store, OpenSearchStore)
        store.handle.client.indices.delete(index=store.handle.name)
    return row


def index_latency(location: str, encoder: SpanEncoder, phrases: list[str]) -> dict[str, Any]:
    """Milliseconds of a search by each engine that the node has."""
    row = {}
    with Corpus(location, encoder) as corpus:
        store = corpus.store
        assert isinstance(store, OpenSearchStore)
        best = store.script_engine(make_query(encoder, "warm up"))
        for name, engine in (("painless", PAINLESS), ("native", NATIVE)):
            if engine in (PAINLESS, best):
                store._server._engine = engine
                row[name] = latency(corpus, phrases)
    return row


def there(local: str, location: str, encoder: SpanEncoder, phrases: list[str]) -> dict[str, Any]:
    """A local store and an index that hold the same."""
    with Corpus(local, encoder) as corpus:
        row: dict[str, Any] = {
            "tokens": corpus.info().pieces,
            "local": latency(corpus, phrases),
        }
    return row | index_latency(location, encoder, phrases)


def plot(rows: list[Any], path: Path) -> None:
    """Median times over sizes, both axes logarithmic."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 3.6), layout="constrained")
    tokens = [row["tokens"] for row in rows]
    for name in ("local", "native", "painless"):
        medians = [row[name]["p50_ms"] for row in rows if name in row]
        label = name if name == "local" else f"OpenSearch, {name}"
        axes.plot(tokens[: len(medians)], medians, marker="o", label=label)
    axes.set(xscale="log", yscale="log", xlabel="token vectors", ylabel="search, median ms")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, metadata={"Date": None, "Title": "Time of a search by size"})


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True)
    parser.add_argument("--local", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tokens", type=int, nargs="*", default=[])
    parser.add_argument("--there", nargs=3, action="append", default=[])
    parser.add_argument("--phrases", type=int, default=30)
    parser.add_argument("--no-merge", action="store_true", help="leave the segments as they are")
    chosen = parser.parse_args()
    if chosen.no_merge:
        copies.SMALLEST_BYTES = 1 << 60
    encoder = SpanEncoder()
    phrases = {
        "contracts": corpora.contract_phrases(chosen.data)[: chosen.phrases],
        "dialogues": corpora.dialogue_phrases(chosen.data)[: chosen.phrases],
    }
    rows = []
    with Corpus(chosen.local, encoder) as corpus:
        assert isinstance(corpus.store, LocalStore)
        for tokens in chosen.tokens:
            row = measure(chosen.url, corpus.store, encoder, tokens, phrases["contracts"])
            rows.append({"corpus": "contracts"} | row)
    for name, local, location in chosen.there:
        rows.append({"corpus": name} | there(local, location, encoder, phrases[name]))
    rows.sort(key=lambda row: row["tokens"])
    (HERE / "results" / "growth.json").write_text(json.dumps(rows, indent=2) + "\n")
    plot(rows, HERE.parent / "docs" / "growth.svg")


if __name__ == "__main__":
    main()
