"""Evaluation: published experiments and your own data, for any encoder.

from slice_os.evaluation import evaluate

result = evaluate("sts-b-context", "sts-b-context.tsv", encoders=["slice-mini"])
print(result)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slice_os.evaluation.registry import HARNESSES, evaluate, load_harness, open_encoder
    from slice_os.evaluation.results import Evaluation, compare

__all__ = ["HARNESSES", "Evaluation", "compare", "evaluate", "load_harness", "open_encoder"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "results" if name in ("Evaluation", "compare") else "registry"
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
