"""Vectors as int8 with a scale per row."""

from __future__ import annotations

import numpy as np

from slice_os.arrays import FloatArray, Int8Array

_STEPS = np.float32(127)


def quantise(vectors: FloatArray) -> tuple[Int8Array, FloatArray]:
    """Quantise rows to symmetric int8, each with its own scale.

    Args:
        vectors: ``(n, dimension)``.

    Returns:
        ``(n, dimension)`` int8 and ``(n,)`` scales. Their product differs from the vector by at
        most half a step, of which its largest component has 127.
    """
    scales = np.maximum(np.abs(vectors).max(axis=1, initial=0.0), 1e-12) / _STEPS
    return np.rint(vectors / scales[:, None]).astype(np.int8), scales.astype(np.float32)


def dequantise(vectors: Int8Array, scales: FloatArray) -> FloatArray:
    """The vectors again, to the precision that `quantise` kept."""
    return vectors.astype(np.float32) * scales[:, None]
