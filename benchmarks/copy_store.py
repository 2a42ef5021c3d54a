"""Copies what a local store holds into an index, so that benchmarks encode a corpus only once.

    python benchmarks/copy_store.py contracts.slice http://127.0.0.1:9200/contracts [--copies 2]

Prints token vectors a second, without the time of encoding, as JSON.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from typing import Any

from timing import cpu_seconds

from slice_os import Corpus, IndexOptions, LocalStore
from slice_os.stores.cluster.loading import copies
from slice_os.stores.cluster.server.connection import IndexHandle


def copy(local: str, location: str, options: IndexOptions, copies: int = 1) -> dict[str, Any]:
    """Copy a store, several times under other ids if that is wanted."""
    with Corpus(local) as source, Corpus(location, source.encoder, index=options) as target:
        store = source.store
        assert isinstance(store, LocalStore)
        client = IndexHandle.at(location).client
        pieces, began, worked = 0, time.perf_counter(), cpu_seconds(client)
        with target._for_writing().writer() as writer:
            for number in range(copies):
                for part in store.stored_documents():
                    document = part.document
                    if number:
                        document = replace(document, id=f"{document.id} {number}")
                    pieces += sum(len(passage.vectors) for passage in part.passages)
                    assert not writer.write(replace(part, document=document))
            assert not writer.flush()
        seconds, worked = time.perf_counter() - began, cpu_seconds(client) - worked
    rates = {"seconds": round(seconds, 1), "per_second": round(pieces / seconds)}
    return {"tokens": pieces, **rates, "cpu_seconds": round(worked, 1)}


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("local")
    parser.add_argument("location")
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--policy", default=IndexOptions().policy)
    parser.add_argument("--truncate-dim", type=int)
    parser.add_argument("--no-merge", action="store_true", help="leave the segments as they are")
    chosen = parser.parse_args()
    if chosen.no_merge:
        copies.SMALLEST_BYTES = 1 << 60
    options = IndexOptions(policy=chosen.policy, truncate_dim=chosen.truncate_dim, replicas=0)
    print(json.dumps(copy(chosen.local, chosen.location, options, chosen.copies)), flush=True)


if __name__ == "__main__":
    main()
