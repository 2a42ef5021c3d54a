"""Training encoders whose token vectors can be averaged over any span.

`read_config` reads a recipe, `train` carries it out, `estimate` reports what it would take.
"""

from __future__ import annotations

from slice_os.training.config import TrainingConfig, read_config
from slice_os.training.estimate import Estimate, estimate
from slice_os.training.progress import Tick
from slice_os.training.run import train
from slice_os.training.run_files import TrainingSummary

__all__ = [
    "Estimate",
    "Tick",
    "TrainingConfig",
    "TrainingSummary",
    "estimate",
    "read_config",
    "train",
]
