"""The one import of torch for training, with the install line if it is missing."""

from __future__ import annotations

from slice_os.errors import MissingExtraError

try:
    import torch
except ImportError:
    raise MissingExtraError("Training", "train") from None

__all__ = ["torch"]
