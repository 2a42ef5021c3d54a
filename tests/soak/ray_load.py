"""Ray's workers on this machine: they load an index, and one of them can be killed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

if TYPE_CHECKING:
    from slice_os.ingest.pipeline import IngestSummary
    from slice_os.ingest.ray_data import EncodeDocuments, IndexSink

ROOT = Path(__file__).parents[2]
# Without clusters, Ray listens on the loopback interface alone. It reads this when it loads.
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"


@contextmanager
def ray_workers(processors: int) -> Iterator[None]:
    """Ray on this machine, with workers that import this checkout."""
    import ray

    with patch.dict(os.environ, PYTHONPATH=str(ROOT)):
        ray.init(
            num_cpus=processors,
            include_dashboard=False,
            object_store_memory=200 << 20,
            log_to_driver=False,
        )
        ray.data.DataContext.get_current().enable_progress_bars = False
        try:
            yield
        finally:
            ray.shutdown()


def load_by_ray(
    records: Sequence[dict[str, Any]],
    sink: IndexSink,
    *,
    blocks: int = 2,
    batch_size: int = 6,
    encoders: int = 1,
    encode: type[EncodeDocuments] | None = None,
) -> IngestSummary:
    """Load records with two workers that write, and some that encode, maybe by another class."""
    import ray

    from slice_os.ingest.ray_data import EncodeDocuments

    (
        ray.data.from_items(list(records), override_num_blocks=blocks)
        .map_batches(
            encode or EncodeDocuments,
            fn_constructor_args=[sink.location],
            fn_constructor_kwargs={"threads": 1},
            batch_format="pyarrow",
            batch_size=batch_size,
            concurrency=encoders,
        )
        .write_datasink(sink, concurrency=2)
    )
    assert sink.summary is not None
    return sink.summary


def kill_a_worker() -> str:
    """Kill one of Ray's workers at work; returns what it did."""
    import psutil

    for child in psutil.Process().children(recursive=True):
        title = " ".join(child.cmdline())
        if title.startswith(("ray::Write", "ray::MapWorker")):
            child.kill()
            return title
    raise AssertionError("no worker of Ray is at work")
