"""Projections: orthonormal directions along which vectors can be shortened."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from slice_os.arrays import FloatArray
from slice_os.errors import ModelError
from slice_os.model import projection_file

# A projection is stored as float16.
_ORTHONORMAL = 1e-3


def principal_projection(vectors: npt.NDArray[np.float64]) -> FloatArray:
    """The principal directions of some vectors, by falling spread.

    Rotating by all of them changes no cosine; the first rows keep as much of the cosines as that
    many numbers can. The vectors are not centred, since cosines are not.

    Args:
        vectors: ``(n, dimension)`` unit vectors.

    Returns:
        ``(dimension, dimension)``, one direction a row.
    """
    _, directions = np.linalg.eigh(vectors.T @ vectors)
    return np.ascontiguousarray(directions[:, ::-1].T, dtype=np.float32)


def read_projection(folder: Path, dimension: int) -> FloatArray | None:
    """The projection of a model folder; None if it has none.

    Args:
        folder: of the model.
        dimension: of the model's vectors.

    Returns:
        ``(dimension, dimension)``, one direction a row.

    Raises:
        ModelError: if the file does not hold that many orthonormal rows.
    """
    path = projection_file(folder)
    if path is None:
        return None
    try:
        projection = np.load(path, allow_pickle=False).astype(np.float32)
        orthonormal = np.abs(projection @ projection.T - np.eye(dimension)).max() < _ORTHONORMAL
    except (OSError, ValueError):
        orthonormal = False
    if not orthonormal:
        raise ModelError(
            f"{path}: not {dimension} orthonormal rows; delete it, or train or export again"
        )
    return np.asarray(projection, dtype=np.float32)
