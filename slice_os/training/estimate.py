"""A dry run: a few real steps of every stage, and an estimate of the whole run."""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from slice_os.training.backend import torch
from slice_os.training.config import BASE, TrainingConfig
from slice_os.training.context import RunContext
from slice_os.training.prepared_sets import Counts
from slice_os.training.progress import Report, silent, tracked

_WARM, _TIMED = 1, 3  # steps


@dataclass(frozen=True, slots=True)
class StageEstimate:
    """The estimate of a stage; ``seconds`` are for all its steps, without evaluations."""

    name: str
    parameters: int
    steps: int
    step_seconds: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimate of a run; ``memory_bytes`` is the peak of the GPU or else of the process."""

    device: str
    stages: tuple[StageEstimate, ...]
    memory_bytes: int
    datasets: Mapping[str, Counts]


def estimate(config: TrainingConfig, data: str | Path, progress: Report = silent) -> Estimate:
    """Take a few steps of every stage from the recipe's model, and keep nothing.

    Raises the errors of `train`.
    """
    with tempfile.TemporaryDirectory() as scratch:
        context = RunContext(config, Path(data), Path(scratch), progress)
        stages = []
        for stage in tracked(config.stages, "trying stages", len(config.stages), progress):
            # Earlier stages have no result yet; the base model has the same size.
            run = context.stage(replace(stage, start=BASE, teacher=BASE))
            for step in range(_WARM):
                run.step(step)
            began = time.perf_counter()
            for step in range(_WARM, _WARM + _TIMED):
                run.step(step)
            pace = (time.perf_counter() - began) / _TIMED
            count = sum(parameter.numel() for _, parameter in run.trained)
            stages.append(StageEstimate(stage.name, count, stage.steps, pace, pace * stage.steps))
        device = context.accelerator.device
        counts = {name: loaded.counts for name, loaded in context.datasets.items()}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    memory *= 1 if sys.platform == "darwin" else 1024
    if device.type == "cuda":
        memory = torch.cuda.max_memory_allocated()
    return Estimate(str(device), tuple(stages), memory, counts)
