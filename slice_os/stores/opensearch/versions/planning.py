"""Planning an index in OpenSearch: its size, and the machines that it needs."""

from __future__ import annotations

import math
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class CostPerToken:
    """The cost of a token vector with the bundled model and the default index options.

    All by ``python benchmarks/index_plan.py``, on a merged index of one shard.

    Attributes:
        disk_bytes: of the index in one copy.
        searched_bytes: of these, what every search reads: graph, span vectors, terms.
        merge_heap_bytes: heap while a segment with its graph is made.
        ingest_rate: token vectors a second that one core reads, encodes and indexes.
        merge_rate: token vectors a second that one node merges at the end, one shard at a time.
    """

    disk_bytes: float
    searched_bytes: float
    merge_heap_bytes: float
    ingest_rate: float
    merge_rate: float


# Of dialogues, whose short turns make them dearer than contracts or novels; what was found is in
# benchmarks/results/index_plan.json.
MEASURED = CostPerToken(
    disk_bytes=715, searched_bytes=260, merge_heap_bytes=350, ingest_rate=1_300, merge_rate=2_750
)


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """The needs of an index; bytes of all copies together, unless said otherwise.

    Attributes:
        tokens: token vectors.
        replicas: copies of each shard.
        node_memory: memory of a node in bytes.
        cores: cores that ingest.
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
    tokens: int,
    *,
    replicas: int = 1,
    node_memory: int = 64 * GIB,
    cores: int = 16,
    cost: CostPerToken = MEASURED,
) -> IndexPlan:
    """Plan an index with the default options.

    Args:
        tokens: token vectors, which is word pieces of the corpus.
        replicas: copies of each shard.
        node_memory: memory of a node in bytes.
        cores: that ingest, of all machines together; OpenSearch's nodes included.
        cost: of one token vector.
    """
    copies = 1 + replicas
    most_heap = min(LARGEST_HEAP_BYTES, node_memory * LARGEST_HEAP_SHARE)
    # With --force-merge a shard becomes one segment, whose graph is made in the heap.
    largest_shard = min(
        LARGEST_SHARD_BYTES / cost.disk_bytes,
        most_heap * MERGE_SHARE_OF_HEAP / cost.merge_heap_bytes,
    )
    shards = math.ceil(tokens / largest_shard)
    shard_tokens = tokens / shards
    needed_heap = shard_tokens * cost.merge_heap_bytes / MERGE_SHARE_OF_HEAP
    heap = min(most_heap, max(SMALLEST_HEAP_BYTES, needed_heap))
    page_cache = tokens * cost.searched_bytes * copies
    nodes = max(copies, math.ceil(page_cache / (node_memory - heap)))
    index = tokens * cost.disk_bytes * copies
    merging = shard_tokens * cost.disk_bytes * nodes
    return IndexPlan(
        tokens=tokens,
        replicas=replicas,
        node_memory=node_memory,
        cores=cores,
        shards=shards,
        shard_bytes=round(shard_tokens * cost.disk_bytes),
        nodes=nodes,
        heap_bytes=round(heap),
        page_cache_bytes=round(page_cache),
        index_bytes=round(index),
        disk_bytes=round((index + merging) / FULLEST_DISK_SHARE),
        ingest_hours=tokens / cost.ingest_rate / cores / SECONDS_PER_HOUR,
        merge_hours=tokens / cost.merge_rate / min(nodes / copies, shards) / SECONDS_PER_HOUR,
    )
