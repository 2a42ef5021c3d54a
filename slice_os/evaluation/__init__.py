"""Evaluation: published experiments and your own data, for any encoder.

from slice_os.evaluation import evaluate

result = evaluate("sts-b-context", "sts-b-context.tsv", encoders=["slice-mini"])
print(result)
"""

from __future__ import annotations

from slice_os.evaluation.registry import HARNESSES, evaluate, load_harness, open_encoder
from slice_os.evaluation.results import Evaluation, compare

__all__ = ["HARNESSES", "Evaluation", "compare", "evaluate", "load_harness", "open_encoder"]
