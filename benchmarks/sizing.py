"""Plan an index in OpenSearch: its size, and the machines that it needs.

    python benchmarks/sizing.py         # writes the tables of docs/sizing.md, as `make docs` does

`index_plan.py` measured the constants. A test checks that the page is current.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAGE = Path("docs/sizing.md")
TOKENS = (10**6, 10**7, 10**8, 10**9, 10**10)
RESULTS = Path("benchmarks/results/index_plan.json")
_TABLE = re.compile(r"<!-- (sizing|checked) -->\n.*?<!-- end -->", re.DOTALL)

GIB = 2**30
SECONDS_PER_HOUR = 3_600

# OpenSearch's own advice: shards of 10 to 30 GB for search, at most half of the memory as heap,
# and a heap below the limit of compressed pointers. A node that is 85 % full gets no more shards.
LARGEST_SHARD_BYTES = 30e9
SMALLEST_HEAP_BYTES = 2 * GIB
LARGEST_HEAP_BYTES = 31 * GIB
LARGEST_HEAP_SHARE = 0.5
FULLEST_DISK_SHARE = 0.85
# The other half is for indexing buffers, requests and caches.
MERGE_SHARE_OF_HEAP = 0.5


# The cost of a token vector with the bundled model and the default index options, by
# index_plan.py on a merged index of one shard. It is that of dialogues, whose short
# turns make them dearer than contracts or novels; results/index_plan.json has all.
DISK_BYTES = 555
# Of these, what every search reads: graph, span vectors, terms.
SEARCHED_BYTES = 145
# Heap while a segment with its graph is made.
MERGE_HEAP_BYTES = 320
# Token vectors a second that one core reads, encodes and indexes.
INGEST_RATE = 3_300
# Token vectors a second that one node merges at the end, one shard at a time.
MERGE_RATE = 10_000


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """The needs of an index; bytes of all copies together, unless said otherwise.

    Attributes:
        tokens: token vectors, which is word pieces of the corpus.
        replicas: copies of each shard.
        node_memory: memory of a node in bytes.
        cores: cores that ingest, of all machines together; OpenSearch's nodes included.
        shards: primary shards.
        shard_bytes: of one shard.
        nodes: so that what every search reads fits in their page cache.
        heap_bytes: of one node.
        page_cache_bytes: what every search reads.
        index_bytes: of the index.
        disk_bytes: to provide, with room for merging and for a node's low watermark.
        ingest_hours: reading, encoding and indexing.
        merge_hours: merging every copy of a shard into one segment at the end.
    """

    tokens: int
    replicas: int
    node_memory: int
    cores: int
    shards: int
    shard_bytes: int
    nodes: int
    heap_bytes: int
    page_cache_bytes: int
    index_bytes: int
    disk_bytes: int
    ingest_hours: float
    merge_hours: float


def plan_index(
    tokens: int, *, replicas: int = 1, node_memory: int = 64 * GIB, cores: int = 16
) -> IndexPlan:
    """Plan an index with the default options; for the arguments see `IndexPlan`."""
    copies = 1 + replicas
    most_heap = min(LARGEST_HEAP_BYTES, node_memory * LARGEST_HEAP_SHARE)
    # With --force-merge a shard becomes one segment, whose graph is made in the heap.
    merged_at_once = most_heap * MERGE_SHARE_OF_HEAP / MERGE_HEAP_BYTES
    largest_shard = min(LARGEST_SHARD_BYTES / DISK_BYTES, merged_at_once)
    shards = math.ceil(tokens / largest_shard)
    shard_tokens = tokens / shards
    needed_heap = shard_tokens * MERGE_HEAP_BYTES / MERGE_SHARE_OF_HEAP
    heap = min(most_heap, max(SMALLEST_HEAP_BYTES, needed_heap))
    page_cache = tokens * SEARCHED_BYTES * copies
    nodes = max(copies, math.ceil(page_cache / (node_memory - heap)))
    index = tokens * DISK_BYTES * copies
    merging = shard_tokens * DISK_BYTES * nodes
    return IndexPlan(
        tokens=tokens,
        replicas=replicas,
        node_memory=node_memory,
        cores=cores,
        shards=shards,
        shard_bytes=round(shard_tokens * DISK_BYTES),
        nodes=nodes,
        heap_bytes=round(heap),
        page_cache_bytes=round(page_cache),
        index_bytes=round(index),
        disk_bytes=round((index + merging) / FULLEST_DISK_SHARE),
        ingest_hours=tokens / INGEST_RATE / cores / SECONDS_PER_HOUR,
        merge_hours=tokens / MERGE_RATE / min(nodes / copies, shards) / SECONDS_PER_HOUR,
    )


def fill(page: str, results: Path) -> str:
    """Return the page with its tables filled."""
    tables = {"sizing": table(), "checked": comparison(json.loads(results.read_text("utf-8")))}
    return _TABLE.sub(lambda match: f"<!-- {match[1]} -->\n{tables[match[1]]}\n<!-- end -->", page)


def comparison(rows: Mapping[str, Any]) -> str:
    """Planned over found, for every corpus of the benchmark."""
    lines = [
        "| corpus | token vectors | disk | page cache | heap of a merge | ingest | merging |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        ratios = " | ".join(f"{ratio:.2f}" for ratio in row["plan_to_found"].values())
        lines.append(f"| {name} | {row['tokens']:,} | {ratios} |")
    return "\n".join(lines)


def table() -> str:
    """The table, for the defaults of the command."""
    lines = [
        "| token vectors | shards | nodes, heap of each | page cache | disk | ingest | merging |",
        "|---|---|---|---|---|---|---|",
    ]
    for tokens in TOKENS:
        plan = plan_index(tokens)
        cells = (
            f"{tokens:,}",
            f"{plan.shards:,} of {size(plan.shard_bytes)}",
            f"{plan.nodes:,}, {plan.heap_bytes / GIB:,.0f} GiB",
            size(plan.page_cache_bytes),
            size(plan.disk_bytes),
            hours(plan.ingest_hours),
            hours(plan.merge_hours),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def size(count: float) -> str:
    """Bytes as people write them."""
    for unit in ("MB", "GB", "TB"):
        count /= 1_000 if unit != "MB" else 1_000_000
        if count < 1_000:
            break
    return f"{count:,.1f} {unit}" if count < 10 else f"{count:,.0f} {unit}"


def hours(count: float) -> str:
    """Hours, or minutes if that is less than one; at least one minute."""
    if count < 1:
        return f"{max(60 * count, 1):,.0f} min"
    return f"{count:,.1f} h" if count < 10 else f"{count:,.0f} h"


if __name__ == "__main__":
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), RESULTS), encoding="utf-8")
