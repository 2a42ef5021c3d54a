"""Measure the bytes of an index, and what smaller indices cost in overlap and latency.

    python benchmarks/index_size.py --store STORE --corpus contracts --url URL --data ../shared/data

Copies a local store into one index for each span policy and length of span vectors, prints what
each kind of Lucene file takes a token (`fdt` stored fields, `dvd` doc values with the token
vectors, `vec` and `vex` span vectors and their graph), the share of the local store's ten best
passages that the index finds, milliseconds, and seconds of processors for loading and merging.
`--no-small` scores candidates even where an index is small enough to score every passage. Saves
JSON to benchmarks/results/.
"""

from __future__ import annotations

import argparse
import json
import statistics
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import corpora
from copy_store import copy
from server_search import passages
from timing import cpu_seconds, percentiles, timed

from slice_os.corpus import Corpus
from slice_os.hits.hit import Hits
from slice_os.stores.cluster.loading import loading
from slice_os.stores.cluster.loading.copies import drop_copies
from slice_os.stores.cluster.schema.settings import IndexOptions
from slice_os.stores.cluster.search import scripted, server_flows
from slice_os.stores.cluster.search.listing import require_index
from slice_os.stores.cluster.server.connection import IndexHandle

RESULTS = Path(__file__).parent / "results"
FORMS = (("grid:1,6", 192), ("grid:1,6", 96), ("grid:4", 192), ("grid:4", 96))
FUSIONS = ("cosine", "convex")


def bytes_per_token(location: str, tokens: int) -> dict[str, float]:
    """Bytes a token in all, and by kind of file."""
    alias = IndexHandle.at(location)
    index = require_index(alias).name
    alias.client.indices.flush(index=index, params={"force": "true"})
    alias.client.indices.refresh(index=index)
    params = {"include_segment_file_sizes": "true"}
    stats = alias.client.indices.stats(index=index, metric="segments", params=params)
    primaries = stats["_all"]["primaries"]
    files = primaries["segments"]["file_sizes"]
    sizes = {name: file["size_in_bytes"] / tokens for name, file in files.items()}
    large = sorted((name for name in sizes if sizes[name] >= 1), key=lambda name: -sizes[name])
    return {"all": round(sum(sizes.values()), 1), **{name: round(sizes[name], 1) for name in large}}


def ask(corpus: Corpus, phrases: list[str], fusion: str) -> tuple[list[Hits], dict[str, float]]:
    """The ten best passages for every phrase, and milliseconds."""
    corpus.search("warm up")
    answers, milliseconds = timed(
        lambda phrase: corpus.search(phrase, top_k=10, fusion=fusion), phrases
    )
    return answers, percentiles(milliseconds, digits=None)


def overlap(exact: list[Hits], found: list[Hits]) -> float:
    """The mean share of the exact passages that are found."""
    shares = [
        len(passages(a) & passages(b)) / max(1, len(a)) for a, b in zip(exact, found, strict=True)
    ]
    return round(statistics.mean(shares), 4)


def measure(
    store: str, url: str, phrases: list[str], options: IndexOptions, exact: dict[str, list[Hits]]
) -> dict[str, Any]:
    """One form of index."""
    label = options.policy.translate(str.maketrans(":,", "--"))
    location = f"{url}/{Path(store).stem}-{label}-{options.truncate_dim}"
    with mock.patch.object(loading, "drop_copies"):
        loaded = copy(store, location, options)
    row: dict[str, Any] = {"policy": options.policy, "truncate_dim": options.truncate_dim, **loaded}
    row["bytes_loaded"] = bytes_per_token(location, loaded["tokens"])
    alias = IndexHandle.at(location)
    began = cpu_seconds(alias.client)
    drop_copies(alias.named(require_index(alias).name), writes_before=0)
    row["merge_cpu_seconds"] = round(cpu_seconds(alias.client) - began, 1)
    row["bytes"] = bytes_per_token(location, loaded["tokens"])
    with Corpus(location) as index:
        for fusion in FUSIONS:
            found, row[fusion] = ask(index, phrases, fusion)
            row[fusion]["overlap"] = overlap(exact[fusion], found)
    print(json.dumps(row), flush=True)
    return row


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", required=True)
    parser.add_argument("--corpus", choices=["contracts", "dialogues"], required=True)
    parser.add_argument("--url", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--phrases", type=int, help="all if not given")
    parser.add_argument("--no-small", action="store_true")
    chosen = parser.parse_args()
    phrases = getattr(corpora, f"{chosen.corpus.removesuffix('s')}_phrases")(chosen.data)
    phrases = phrases[: chosen.phrases]
    with ExitStack() as patched:
        if chosen.no_small:
            for name in ("PAINLESS", "NATIVE"):
                engine = replace(getattr(scripted, name), exhaustive_pieces=0)
                patched.enter_context(mock.patch.object(scripted, name, engine))
                patched.enter_context(mock.patch.object(server_flows, name, engine))
        with Corpus(chosen.store) as local:
            exact = {fusion: ask(local, phrases, fusion)[0] for fusion in FUSIONS}
        rows = [
            measure(
                chosen.store,
                chosen.url,
                phrases,
                IndexOptions(policy=policy, truncate_dim=length, replicas=0),
                exact,
            )
            for policy, length in FORMS
        ]
    out = RESULTS / f"index_size_{chosen.corpus}.json"
    out.write_text(json.dumps({"candidates_only": chosen.no_small, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main()
