"""Objectives, by their names in recipes. A new one is a file and a line in `OBJECTIVES`."""

from __future__ import annotations

from slice_os.training.objectives.contextual import Contextual, Senses
from slice_os.training.objectives.distillation import SpanDistillation
from slice_os.training.objectives.objective import Objective
from slice_os.training.objectives.slice_loss import GradedSpans, InBatchLoss, SliceLoss

OBJECTIVES: dict[str, type[Objective]] = {
    "slice": SliceLoss,
    "in-batch": InBatchLoss,
    "distillation": SpanDistillation,
    "contextual": Contextual,
    "senses": Senses,
    "graded": GradedSpans,
}

__all__ = ["OBJECTIVES", "Objective"]
