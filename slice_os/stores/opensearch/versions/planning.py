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


# The cost of a token vector with the bundled model and the default index options, by
# benchmarks/index_plan.py on a merged index of one shard. It is that of dialogues, whose short
# turns make them dearer than contracts or novels; benchmarks/results/index_plan.json has all.
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
