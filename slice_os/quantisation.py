"""Token vectors as int8, and span vectors as bytes for an index."""

from __future__ import annotations

import numpy as np

from slice_os.arrays import FloatArray, Int8Array

_STEPS = np.float32(127)


def quantise(vectors: FloatArray) -> tuple[Int8Array, FloatArray]:
    """Symmetric int8 with one scale a row.

    Args:
        vectors: ``(n, dimension)``.

    Returns:
        ``(n, dimension)`` int8 and ``(n,)`` scales, whose product is the vector again to
        within half a step of its largest component / 127.
    """
    scales = np.maximum(np.abs(vectors).max(axis=1, initial=0.0), 1e-12) / _STEPS
    return np.rint(vectors / scales[:, None]).astype(np.int8), scales.astype(np.float32)


def dequantise(vectors: Int8Array, scales: FloatArray) -> FloatArray:
    """The vectors that `quantise` was given, as far as int8 keeps them."""
    return vectors.astype(np.float32) * scales[:, None]
