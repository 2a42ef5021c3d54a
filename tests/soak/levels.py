"""Whether what is measured again and again stays level, or grows."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from scipy import stats

BLOCKS = 15

Samples = list[dict[str, float]]


def of_process(process: int | str = "self") -> dict[str, float]:
    """Resident memory, also without mapped files, open files and threads of a process."""
    folder = Path("/proc", str(process))
    resident, mapped = (int(pages) for pages in (folder / "statm").read_text().split()[1:3])
    size = os.sysconf("SC_PAGE_SIZE") / 1e6
    return {
        "rss_mb": resident * size,
        "own_mb": (resident - mapped) * size,
        "handles": sum(1 for _ in (folder / "fd").iterdir()),
        "threads": sum(1 for _ in (folder / "task").iterdir()),
    }


@contextmanager
def sampled(measure: Callable[[], Mapping[str, float]], every: float) -> Iterator[Samples]:
    """What is measured by a thread while the block runs, with the hours since it began."""
    samples: Samples = []
    ended = threading.Event()
    began = time.monotonic()

    def sample() -> None:
        while not ended.wait(every):
            samples.append({"hours": (time.monotonic() - began) / 3600, **measure()})

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        ended.set()
        thread.join()


def level(samples: Sequence[Mapping[str, float]], name: str) -> dict[str, object]:
    """The level over the last three quarters, and how it grows by the hour.

    Neighbouring samples are alike, so the interval is that of means of blocks of them.
    """
    late = samples[len(samples) // 4 :]
    blocks = [
        (np.mean([one["hours"] for one in block]), np.mean([one[name] for one in block]))
        for indices in np.array_split(np.arange(len(late)), BLOCKS)
        if (block := [late[index] for index in indices])
    ]
    values = [one[name] for one in late]
    fitted = stats.linregress(*zip(*blocks, strict=True))
    # What never changes has a slope of 0, whose error SciPy does not know.
    wide = float(stats.t.ppf(0.975, len(blocks) - 2) * np.nan_to_num(fitted.stderr))
    slope = float(fitted.slope)
    return {
        "mean": round(float(np.mean(values)), 2),
        "least": round(min(values), 2),
        "most": round(max(values), 2),
        "slope_per_hour": round(slope, 3),
        "slope_interval_95": [round(slope - wide, 3), round(slope + wide, 3)],
    }
