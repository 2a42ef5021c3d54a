"""Projections: orthonormal directions along which vectors can be shortened."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from slice_os.arrays import FloatArray
from slice_os.encoder.model_folder import PROJECTION_FILE
from slice_os.errors import ModelError

# A projection is stored as float16.
_ORTHONORMAL = 1e-3


def principal_projection(vectors: npt.NDArray[np.float64]) -> FloatArray:
    """The principal directions of ``(n, dimension)`` unit vectors, by falling spread, one a row.

    Rotating by all of them changes no cosine; the first rows keep as much of the cosines as that
    many numbers can. The vectors are not centred, since cosines are not.
    """
    _, directions = np.linalg.eigh(vectors.T @ vectors)
    return np.ascontiguousarray(directions[:, ::-1].T, dtype=np.float32)


def read_projection(folder: Path, dimension: int) -> FloatArray | None:
    """The ``(dimension, dimension)`` projection of a model folder, one direction a row, if any.

    Raises:
        ModelError: if the file does not hold that many orthonormal rows.
    """
    path = folder / PROJECTION_FILE
    if not path.is_file():
        return None
    try:
        # Mapped, so that a header cannot make it larger than the file.
        stored = np.load(path, mmap_mode="r", allow_pickle=False)
        square = stored.shape == (dimension, dimension) and stored.dtype.kind == "f"
        projection = np.asarray(stored, dtype=np.float32) if square else None
    except (OSError, ValueError, EOFError):
        projection = None
    if projection is not None:
        products = projection @ projection.T
        if np.abs(products - np.eye(dimension)).max() < _ORTHONORMAL:
            return projection
    raise ModelError(
        f"{path}: not {dimension} orthonormal rows; delete it, or train or export again"
    )
