"""Ray's workers on this machine: they load an index, and one of them can be killed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from slice_os.ingest.pipeline import IngestSummary
from slice_os.stores.opensearch.schema.settings import IndexOptions

ROOT = Path(__file__).parents[2]
# Without clusters, Ray listens on the loopback interface alone. It reads this when it loads.
ENVIRONMENT = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "PYTHONPATH": str(ROOT),
}


@contextmanager
def ray_workers() -> Iterator[None]:
    """Ray with workers for two encoders and two sinks."""
    os.environ.update(ENVIRONMENT)
    import ray

    ray.init(
        num_cpus=4, include_dashboard=False, object_store_memory=200 << 20, log_to_driver=False
    )
    ray.data.DataContext.get_current().enable_progress_bars = False
    try:
        yield
    finally:
        ray.shutdown()


def load_by_ray(
    records: Sequence[dict[str, Any]], location: str, index: IndexOptions, letters: Path
) -> IngestSummary:
    """Load records with Ray's workers."""
    import ray

    from slice_os.ingest.ray_data import EncodeDocuments, IndexSink

    sink = IndexSink(location, index=index, dead_letters=letters)
    (
        ray.data.from_items(list(records), override_num_blocks=16)
        .map_batches(
            EncodeDocuments,
            fn_constructor_args=[sink.location],
            fn_constructor_kwargs={"threads": 1},
            batch_format="pyarrow",
            batch_size=32,
            concurrency=2,
        )
        .write_datasink(sink, concurrency=2)
    )
    assert sink.summary is not None
    return sink.summary


def kill_a_worker() -> str:
    """Kill one of Ray's workers at work; returns what it did."""
    for child in psutil.Process().children(recursive=True):
        title = " ".join(child.cmdline())
        if title.startswith(("ray::Write", "ray::MapWorker")):
            child.kill()
            return title
    raise AssertionError("no worker of Ray is at work")
