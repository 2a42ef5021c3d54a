"""Measure how an index grows on one node, and on three: time to load, bytes, and time of a search.

    python -m tests.opensearch.node --nodes 3
    python benchmarks/growth_nodes.py --url URL --local texts.slice --data ../shared/data \
        --tokens 250000 500000 1000000 2000000 5000000

The vectors are copied from a local store, so nothing is encoded. Half of the phrases are for
contracts, half for dialogues. `--shards 1` is for a table by shards. Rows are added to those of
earlier runs on other clusters, in benchmarks/results/growth_nodes.json; those of three shards are
plotted to docs/notebook/three-nodes.svg. `--keep` leaves the indices, and `--again` then measures
the searches alone, when the machine has nothing else to do.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import corpora
from growth import fill, latency, some
from opensearchpy import OpenSearch
from timing import node_cpu_seconds

from slice_os import Corpus, IndexOptions, LocalStore, SpanEncoder

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "growth_nodes.json"
PICTURE = HERE.parent / "docs" / "notebook" / "three-nodes.svg"
# Sizes are up to ten seconds old.
STORE_SECONDS = 11
KEY = ("nodes", "shards", "tokens")


def measure(
    client: OpenSearch,
    location: str,
    source: LocalStore,
    encoder: SpanEncoder,
    tokens: int,
    options: IndexOptions,
) -> dict[str, Any]:
    """Load one size on one cluster."""
    worked = node_cpu_seconds(client)
    loaded = fill(location, some(source, encoder, tokens), encoder, options)
    worked = node_cpu_seconds(client) - worked
    index = location.rpartition("/")[2]
    time.sleep(STORE_SECONDS)
    sizes = client.indices.stats(index=index, metric="store")["_all"]
    primaries, everything = (
        sizes[which]["store"]["size_in_bytes"] for which in ("primaries", "total")
    )
    return {
        **key_of(client, location, loaded["tokens"]),
        "seconds": loaded["seconds"],
        "replicas": options.replicas,
        "node_cpu_seconds": round(worked),
        "bytes": {"primaries": primaries, "with_replicas": everything},
    }


def searched(
    client: OpenSearch, location: str, encoder: SpanEncoder, phrases: list[str]
) -> dict[str, Any]:
    """Milliseconds of searches."""
    with Corpus(location, encoder) as corpus:
        return key_of(client, location, corpus.info().pieces) | latency(corpus, phrases)


def key_of(client: OpenSearch, location: str, tokens: int) -> dict[str, Any]:
    """What tells a row from others."""
    health = client.cluster.health()
    shards = int(location.rpartition("-")[2])
    return {"nodes": health["number_of_data_nodes"], "shards": shards, "tokens": tokens}


def save(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Add a row, or complete the one of the same size on the same cluster; returns all."""
    rows = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    same = [one for one in rows if all(one[name] == row[name] for name in KEY)]
    others = [one for one in rows if one not in same]
    merged = {name: value for one in [*same, row] for name, value in one.items()}
    rows = sorted([*others, merged], key=lambda one: [one[name] for name in KEY])
    RESULTS.write_text(json.dumps(rows, indent=2) + "\n")
    return rows


def plot(rows: list[dict[str, Any]]) -> None:
    """Load, bytes and searches over sizes, all axes logarithmic."""
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 3, figsize=(9.6, 3.2), layout="constrained")
    for nodes, name in ((1, "one node"), (3, "three nodes, a replica")):
        some = [row for row in rows if (row["nodes"], row["shards"]) == (nodes, 3)]
        tokens = [row["tokens"] for row in some]
        load, size, search = panels
        worked = [row["node_cpu_seconds"] for row in some]
        (line,) = load.plot(tokens, worked, marker="o", label=name)
        gigabytes = [row["bytes"]["with_replicas"] / 1e9 for row in some]
        size.plot(tokens, gigabytes, marker="o", label=name)
        for which, style in (("p50_ms", "-"), ("p95_ms", ":")):
            milliseconds = [row[which] for row in some if which in row]
            search.plot(
                tokens[: len(milliseconds)], milliseconds, style, marker="o", color=line.get_color()
            )
    titles = (
        "load, processor seconds of nodes",
        "disk, GB",
        "search, ms: median, 95th percentile (dotted)",
    )
    for axes, title in zip(panels, titles, strict=True):
        axes.set(xscale="log", yscale="log", xlabel="token vectors")
        axes.set_title(title, fontsize=9)
        axes.grid(alpha=0.3)
    panels[0].legend(fontsize=8)
    figure.savefig(PICTURE, metadata={"Date": None, "Title": "One node and three by size"})


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True)
    parser.add_argument("--local", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--tokens", type=int, nargs="+", required=True)
    parser.add_argument("--shards", type=int, default=3)
    parser.add_argument("--phrases", type=int, default=60)
    parser.add_argument("--keep", action="store_true", help="do not delete the indices")
    parser.add_argument("--again", action="store_true", help="only search what was kept")
    chosen = parser.parse_args()
    encoder, client = SpanEncoder(), OpenSearch(chosen.url, timeout=300)
    half = chosen.phrases // 2
    phrases = corpora.contract_phrases(chosen.data)[:half]
    phrases += corpora.dialogue_phrases(chosen.data)[:half]
    several = client.cluster.health()["number_of_data_nodes"] > 1
    options = IndexOptions(shards=chosen.shards, replicas=int(several))
    with Corpus(chosen.local, encoder) as corpus:
        source = corpus.store
        assert isinstance(source, LocalStore)
        for tokens in chosen.tokens:
            name = f"growth-{tokens}-{chosen.shards}"
            location = f"{chosen.url}/{name}"
            if not chosen.again:
                save(measure(client, location, source, encoder, tokens, options))
            row = searched(client, location, encoder, phrases)
            print(json.dumps(row), flush=True)
            plot(save(row))
            if not (chosen.keep or chosen.again):
                client.indices.delete(index=f"{name}-0*")


if __name__ == "__main__":
    main()
