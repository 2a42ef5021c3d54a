"""A dry run: a few real steps of every stage, and what the whole run would take."""

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
from slice_os.training.data.datasets import Loaded
from slice_os.training.run import RunContext

_WARM = 1
_TIMED = 3


@dataclass(frozen=True, slots=True)
class StageEstimate:
    """What a stage would take.

    Attributes:
        name: of the stage.
        parameters: numbers that are trained.
        steps: it has.
        step_seconds: mean of the steps tried, without the first.
        seconds: all steps at that pace; evaluations come on top.
    """

    name: str
    parameters: int
    steps: int
    step_seconds: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a run would take.

    Attributes:
        device: where it would run.
        stages: each stage.
        memory_bytes: most memory held while trying: of the GPU, else of the process.
        datasets: what was read and what was dropped.
    """

    device: str
    stages: tuple[StageEstimate, ...]
    memory_bytes: int
    datasets: Mapping[str, Loaded]


def estimate(config: TrainingConfig, data: str | Path) -> Estimate:
    """Take a few steps of every stage from the recipe's model, and keep nothing.

    Args:
        config: the recipe.
        data: folder of the data files.

    Raises:
        InputError: on data that are missing or malformed.
        ModelError: if the model cannot be loaded.
    """
    with tempfile.TemporaryDirectory() as scratch:
        context = RunContext(config, Path(data), Path(scratch))
        stages = []
        for stage in config.stages:
            # earlier stages have no result yet; the base model is of the same size
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
        return Estimate(str(device), tuple(stages), _memory(device.type), context.datasets)


def _memory(device: str) -> int:
    if device == "cuda":
        return int(torch.cuda.max_memory_allocated())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
