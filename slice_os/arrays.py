"""Types of arrays, and rows of length 1."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

BoolArray: TypeAlias = npt.NDArray[np.bool_]
FloatArray: TypeAlias = npt.NDArray[np.float32]
Float64Array: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
Int8Array: TypeAlias = npt.NDArray[np.int8]


def unit_rows(matrix: npt.NDArray[np.floating[Any]]) -> FloatArray:
    """Rows of length 1, float32; a row of zeros stays one."""
    lengths = np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
    units: FloatArray = (matrix / lengths).astype(np.float32)
    return units
