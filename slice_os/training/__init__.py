"""Training encoders whose token vectors can be averaged over any span.

`read_config` reads a recipe, `train` carries it out, `estimate` reports what it would take.
"""

from __future__ import annotations

from slice_os.training.config import TrainingConfig, read_config
from slice_os.training.progress import Tick
from slice_os.training.run import Estimate, TrainingSummary, estimate, train

__all__ = [
    "Estimate",
    "Tick",
    "TrainingConfig",
    "TrainingSummary",
    "estimate",
    "read_config",
    "train",
]
