"""Measure a token vector in OpenSearch, and check what the plan of `sizing.py` predicts.

    python benchmarks/index_plan.py --url http://127.0.0.1:9200 --data ../shared/data

Loads three corpora into a node on this machine, with the default index options: dialogues, from
which `stores/cluster/versions/planning.py` has its figures, contracts and a novel. Each is
merged to one segment. Prints JSON, what was found beside what the plan says, and saves it to
benchmarks/results/. Live heap comes from the node's own JDK (jcmd), every ten seconds. Seconds are
those of processors, the node's and our own, so that other work beside it does not count.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import corpora
from opensearchpy import OpenSearch
from sizing import MERGE_HEAP_BYTES, SECONDS_PER_HOUR, plan_index
from timing import cpu_seconds

from slice_os.corpus import Corpus
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.stores.cluster.loading import loading
from slice_os.stores.cluster.schema.indices import force_merge
from slice_os.stores.cluster.schema.settings import IndexOptions
from slice_os.stores.cluster.search.listing import require_index
from slice_os.stores.cluster.server.connection import IndexHandle

HEAP_SECONDS = 10.0
DIALOGUES, CONTRACTS = 1_000, 15
NOVEL = "A-Tale-of-Two-Cities_98.txt.gz"
RESULTS = Path(__file__).parent / "results" / "index_plan.json"
# Files of a Lucene segment that every search reads: graph, vectors, terms, postings and norms.
SEARCHED = ("vex", "vec", "vem", "vemf", "tim", "tip", "tmd", "doc", "pos", "nvd", "nvm", "kdd")


def write_novel(data: Path, out: Path) -> Path:
    """A novel, as a text file."""
    path = out / "novel.txt"
    path.write_bytes(gzip.decompress((data / "gutenberg-books" / NOVEL).read_bytes()))
    return path


def write_contracts(data: Path, out: Path) -> Path:
    """A few contracts, as JSON Lines."""
    path = out / "few-contracts.jsonl"
    with corpora.write_contracts(data, out).open("rb") as stream:
        path.write_bytes(b"".join(itertools.islice(stream, CONTRACTS)))
    return path


def write_dialogues(data: Path, out: Path) -> Path:
    """Some dialogues, as JSON Lines."""
    return corpora.write_dialogues(data, out, DIALOGUES)


CORPORA = {"dialogues": write_dialogues, "contracts": write_contracts, "novel": write_novel}


def live_heap(client: OpenSearch) -> int:
    """Bytes of live objects in the node's heap."""
    ((_, node),) = client.nodes.info(metric="process,jvm")["nodes"].items()
    jcmd = Path(f"/proc/{node['process']['id']}/exe").resolve().with_name("jcmd")
    command = [str(jcmd), str(node["process"]["id"]), "GC.class_histogram"]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return int(re.findall(r"^Total\s+\d+\s+(\d+)", answer, flags=re.MULTILINE)[-1])


def heap_samples(client: OpenSearch, running: Any) -> Iterator[int]:
    """Live heap again and again until something has ended."""
    while not running.done():
        yield live_heap(client)
        time.sleep(HEAP_SECONDS)


def measure(
    client: OpenSearch, url: str, name: str, path: Path, cores: int, wait: float
) -> dict[str, Any]:
    """Load and merge a corpus: what was found."""
    location = f"{url}/plan-{name}"
    began = cpu_seconds(client)
    with (
        mock.patch.object(loading, "drop_copies"),
        Corpus(location, SpanEncoder(), index=IndexOptions(replicas=0)) as corpus,
    ):
        loaded = corpus.ingest([path])
    loading_seconds = cpu_seconds(client) - began
    heap, began = live_heap(client), cpu_seconds(client)
    with ThreadPoolExecutor(1) as pool:
        merging = pool.submit(merge, location, wait)
        merge_heap = max(heap_samples(client, merging)) - heap
        merging.result()
    merging_seconds = cpu_seconds(client) - began
    params = {"include_segment_file_sizes": "true"}
    stats = client.indices.stats(index=f"plan-{name}", metric="store,segments", params=params)
    totals = stats["_all"]["primaries"]
    files = totals["segments"]["file_sizes"]
    found = {
        "index_bytes": totals["store"]["size_in_bytes"],
        "page_cache_bytes": sum(
            files[extension]["size_in_bytes"] for extension in SEARCHED if extension in files
        ),
        "merge_heap_bytes": merge_heap,
        "ingest_seconds": loading_seconds / cores,
        "merge_seconds": merging_seconds,
    }
    tokens = loaded.pieces
    return {
        "bytes_read": loaded.bytes,
        "tokens": tokens,
        "cores": cores,
        "cost_per_token": {
            "disk_bytes": found["index_bytes"] / tokens,
            "searched_bytes": found["page_cache_bytes"] / tokens,
            "merge_heap_bytes": merge_heap / tokens,
            "ingest_rate": tokens / loading_seconds,
            "merge_rate": tokens / merging_seconds,
        },
        "found": found,
    }


def merge(location: str, wait: float) -> None:
    """Merge an index until nothing is kept for recovery any more."""
    alias = IndexHandle.at(location)
    index, client = alias.named(require_index(alias).name), alias.client
    # What a load keeps for recovery is dropped by merges, half a minute after its last use.
    client.indices.flush(index=index.name)
    time.sleep(wait)
    force_merge(index)
    client.indices.flush(index=index.name, params={"force": "true"})
    client.indices.refresh(index=index.name)


def with_plan(row: dict[str, Any]) -> dict[str, Any]:
    """The findings for a corpus, and the plan's prediction."""
    planned = plan_index(row["tokens"], replicas=0, cores=row["cores"])
    plan = {
        "index_bytes": planned.index_bytes,
        "page_cache_bytes": planned.page_cache_bytes,
        "merge_heap_bytes": row["tokens"] * MERGE_HEAP_BYTES,
        "ingest_seconds": planned.ingest_hours * SECONDS_PER_HOUR,
        "merge_seconds": planned.merge_hours * SECONDS_PER_HOUR,
    }
    ratios = {figure: round(plan[figure] / found, 3) for figure, found in row["found"].items()}
    return row | {"plan": plan, "plan_to_found": ratios}


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--wait", type=float, default=70, help="seconds before merging")
    parser.add_argument("--corpus", action="append", choices=CORPORA, help="only this; repeatable")
    chosen = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    rows = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    with tempfile.TemporaryDirectory() as scratch, OpenSearch(chosen.url, timeout=600) as client:
        for name in chosen.corpus or CORPORA:
            path = CORPORA[name](chosen.data, Path(scratch))
            rows[name] = measure(client, chosen.url, name, path, cores, chosen.wait)
            print(json.dumps({name: with_plan(rows[name])}), flush=True)
            RESULTS.write_text(
                json.dumps({name: with_plan(row) for name, row in rows.items()}, indent=2) + "\n"
            )


if __name__ == "__main__":
    main()
