"""Inner products of int8 token vectors and phrases, by the integer instructions of the CPU."""

from __future__ import annotations

import numkong
import numpy as np
import numpy.typing as npt

from slice_os.arrays import FloatArray, Int8Array

# Of a cosine; the largest seen on a million token vectors is 0.000009.
PRODUCT_ERROR = 5e-5

_STEPS = 127
_LARGEST = np.iinfo(np.int32).max


class PhraseProducts:
    """Inner products of int8 vectors with several phrases.

    A phrase is cut into int8 twice: its values in steps of a 127th of the largest, and what
    rounding left of them in steps finer by ``ratio``. Two integer products, added, then differ
    from the product of floats by about a millionth of the vector's length.

    Args:
        phrases: ``(n_phrases, dimension)``.

    Attributes:
        units: ``(n_phrases,)`` what one unit of the integer products of each phrase stands for.
    """

    def __init__(self, phrases: FloatArray) -> None:
        dimension = phrases.shape[1]
        # Sums of coarse and fine products must fit into 32 bits, whatever the vectors.
        self._ratio = min(2 * _STEPS, _LARGEST // (_STEPS * _STEPS * dimension) - 1)
        steps = np.maximum(np.abs(phrases).max(axis=1, keepdims=True), 1e-12) / _STEPS
        scaled = phrases.astype(np.float64) / steps
        coarse = np.rint(scaled)
        fine = np.rint((scaled - coarse) * self._ratio)
        self._packed = numkong.dots_pack(np.concatenate([coarse, fine]).astype(np.int8))
        self.units: FloatArray = (steps.ravel() / self._ratio).astype(np.float32)

    def __call__(self, vectors: Int8Array) -> npt.NDArray[np.int32]:
        """``(n, n_phrases)`` products of ``(n, dimension)`` vectors, in `units`."""
        both = np.asarray(numkong.dots_packed(vectors, self._packed))
        products: npt.NDArray[np.int32] = both[:, : len(self.units)] * np.int32(self._ratio)
        products += both[:, len(self.units) :]
        return products
