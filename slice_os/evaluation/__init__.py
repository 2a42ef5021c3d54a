"""Evaluation: published experiments and your own data, for any encoder.

from slice_os.evaluation import evaluate

result = evaluate("sts-b-context", "sts-b-context.tsv", encoders=["slice-mini"])
print(result)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slice_os.evaluation.encoders.opening import open_encoder
    from slice_os.evaluation.registry import HARNESSES, evaluate, load_harness
    from slice_os.evaluation.results import Evaluation, compare

__all__ = ["HARNESSES", "Evaluation", "compare", "evaluate", "load_harness", "open_encoder"]

_HOMES = {
    "HARNESSES": "registry",
    "Evaluation": "results",
    "compare": "results",
    "evaluate": "registry",
    "load_harness": "registry",
    "open_encoder": "encoders.opening",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
