"""What a load leaves besides what it stored: second copies, and replicas that are being made.

Token vectors and spans are not in ``_source``, so the server keeps every document once more as it
was sent, until all copies of its shard have it on disk: a replica that missed some writes is
brought up to date from these copies. Merges drop the copies that no replica can ask for.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from slice_os.errors import StoreError, UnavailableError
from slice_os.stores.cluster.schema.indices import force_merge
from slice_os.stores.cluster.server.connection import IndexHandle

logger = logging.getLogger("slice_os")

# Of an index without second copies, stored fields are about a thirtieth.
SOME_COPIES = 0.05
MANY_COPIES = 0.25
# A load of less does not pay for rewriting the rest.
LARGE_LOAD = 0.25
# An index below this is merged by its next loads soon enough.
SMALLEST_BYTES = 64 << 20
# What the server merges by itself at most; a merged segment that is larger stays as it is.
SEGMENT_BYTES = 5 << 30
# The server finds out every 30 seconds which writes all copies of a shard have on disk, or later.
WAIT_SECONDS = 90.0
REPLICA_SECONDS = 3600.0
# Replicas are being made, nodes are asked what they still have of them, or a cluster that is busy
# has not come to it within 30 seconds, which is a status of 408.
UNDER_WAY = ("initializing_shards", "number_of_in_flight_fetch", "timed_out")


@dataclass(frozen=True, slots=True)
class Footprint:
    """Disk space of the primary shards of an index, and the writes since it was made.

    Stored fields are texts, records, and the second copies.
    """

    size_bytes: int
    stored_bytes: int
    largest_shard: int
    writes: int

    @classmethod
    def of(cls, handle: IndexHandle) -> Footprint:
        """Measure it.

        Raises an `UnavailableError` while a node is still opening a shard.
        """
        primaries = [shard for shard in _shards(handle) if shard["routing"]["primary"]]
        if not all("seq_no" in shard for shard in primaries):
            raise UnavailableError(f"{handle.location}: a node still opens a shard; try again")
        # The sizes of the store as a whole are up to ten seconds old.
        files = [shard["segments"]["file_sizes"] for shard in primaries]
        sizes = [sum(file["size_in_bytes"] for file in kinds.values()) for kinds in files]
        return cls(
            size_bytes=sum(sizes),
            stored_bytes=sum(kinds["fdt"]["size_in_bytes"] for kinds in files if "fdt" in kinds),
            largest_shard=max(sizes, default=0),
            writes=sum(shard["seq_no"]["max_seq_no"] + 1 for shard in primaries),
        )


def drop_copies(handle: IndexHandle, writes_before: int) -> None:
    """Merge an index if a load left second copies that take much, as a first load does.

    After a load that adds little to a large index nothing is merged. Whatever prevents a merge
    costs only space, so that it is a line in the log.

    ``writes_before`` are the writes of its footprint before the load.
    """
    try:
        with handle.errors_explained():
            _drop(handle, writes_before)
    except StoreError as error:
        logger.warning(
            "%s; what was loaded takes twice the space until the server merges it", error
        )


def _drop(handle: IndexHandle, writes_before: int) -> None:
    client = handle.client
    client.indices.flush(index=handle.name, params={"force": "true"})
    client.indices.refresh(index=handle.name)
    footprint = Footprint.of(handle)
    records = client.count(index=handle.name)["count"]
    large = footprint.writes - writes_before >= LARGE_LOAD * max(records, 1)
    copies = (SOME_COPIES if large else MANY_COPIES) * footprint.size_bytes
    if footprint.size_bytes < SMALLEST_BYTES or footprint.stored_bytes < copies:
        return
    if not released(handle):
        raise StoreError(f"{handle.location}: a replica may still ask for what was loaded")
    # The commit of the first flush counts as safe only from the next one on.
    client.indices.flush(index=handle.name, params={"force": "true"})
    segments = 1 + footprint.largest_shard // SEGMENT_BYTES
    force_merge(handle, segments)
    # Until then searches hold on to the former segments, and these to the disk.
    client.indices.refresh(index=handle.name)


def released(handle: IndexHandle) -> bool:
    """Wait until no copy of a shard can ask for an earlier write; whether that is so."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not all(map(_is_released, _shards(handle))):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.25)
    return True


def _is_released(shard: dict[str, Any]) -> bool:
    # A copy that is being made tells nothing yet.
    return "seq_no" in shard and all(
        lease["retaining_seq_no"] > shard["seq_no"]["max_seq_no"]
        for lease in shard["retention_leases"]["leases"]
    )


def _shards(handle: IndexHandle) -> Iterator[dict[str, Any]]:
    params = {"level": "shards", "include_segment_file_sizes": "true"}
    stats = handle.ask(handle.client.indices.stats, metric="segments", params=params)
    for copies in stats.get("indices", {}).get(handle.name, {}).get("shards", {}).values():
        yield from copies


def await_replicas(handle: IndexHandle) -> None:
    """Wait until every replica that a node has room for is there.

    A load is complete without them, so what prevents it is a line in the log.
    """
    deadline = time.monotonic() + REPLICA_SECONDS
    health = handle.client.cluster.health
    try:
        # What was asked before has had its effects, such as replicas that are being made.
        while any(map(handle.ask(health, wait_for_events="languid", ignore=[408]).get, UNDER_WAY)):
            if time.monotonic() > deadline:
                raise StoreError(f"{handle.location}: the server still makes replicas")
            time.sleep(0.5)
    except StoreError as error:
        logger.warning("%s; until they are there, a node that is lost takes its part along", error)
