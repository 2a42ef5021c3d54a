"""Milliseconds of calls and their percentiles, and seconds of processors, for other benchmarks."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from opensearchpy import OpenSearch

T = TypeVar("T")
R = TypeVar("R")


def timed(work: Callable[[T], R], items: Iterable[T]) -> tuple[list[R], list[float]]:
    """The result of some work for every item, and its milliseconds."""
    results, milliseconds = [], []
    for item in items:
        began = time.perf_counter()
        results.append(work(item))
        milliseconds.append(1000 * (time.perf_counter() - began))
    return results, milliseconds


def percentiles(milliseconds: Sequence[float], digits: int | None = 1) -> dict[str, float]:
    """The median and the 95th percentile, rounded."""
    p95 = statistics.quantiles(milliseconds, n=20)[-1]
    return {"p50_ms": round(statistics.median(milliseconds), digits), "p95_ms": round(p95, digits)}


def cpu_seconds(client: OpenSearch) -> float:
    """Seconds that processors have worked for the nodes and for this process."""
    nodes = client.nodes.stats(metric="process")["nodes"].values()
    worked = float(sum(node["process"]["cpu"]["total_in_millis"] for node in nodes) / 1000)
    return worked + time.process_time()
