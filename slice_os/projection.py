"""Projections: orthonormal directions along which vectors can be shortened."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from slice_os.arrays import FloatArray


def principal_projection(units: npt.NDArray[np.float64]) -> FloatArray:
    """An orthonormal basis by falling spread of unit vectors ``(n, dimension)``, an axis a row."""
    _, projection = np.linalg.eigh(units.T @ units)
    return np.ascontiguousarray(projection[:, ::-1].T, dtype=np.float32)
