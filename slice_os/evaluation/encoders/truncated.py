"""An encoder with shorter vectors: their coordinates along the first axes of its model."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from slice_os.alignment import AlignedText
from slice_os.arrays import FloatArray
from slice_os.encoder import SpanEncoder
from slice_os.errors import InputError
from slice_os.evaluation.encoders.base import Cost, Representation, SpanTextEncoder


class TruncatedEncoder:
    """The vectors of another encoder along some of its model's axes, as an index keeps them.

    Args:
        whole: the encoder.
        count: axes to keep.

    Raises:
        InputError: if the model has no axes, or not so many.
    """

    def __init__(self, whole: SpanTextEncoder, count: int) -> None:
        projection = None if whole.spans is None else whole.spans.projection
        if projection is None:
            raise InputError(
                f"encoder {whole.name!r} has no projection.npy; export it with slice-os"
            )
        if not 0 < count <= len(projection):
            raise InputError(
                f"encoder {whole.name!r} has {len(projection)} dimensions; "
                f"give 1 to {len(projection)}"
            )
        self._whole = whole
        self._projection: FloatArray = projection[:count]
        self.name = f"{whole.name}, {count} dimensions"
        digest = hashlib.sha256(self._projection.tobytes()).hexdigest()[:16]
        self.identity = f"{whole.identity}-axes-{count}-{digest}"
        self.representation: Representation = "mean"
        self.spans: SpanEncoder | None = None

    @property
    def cost(self) -> Cost:
        """See `TextEncoder.cost`."""
        return self._whole.cost

    def phrases(self, texts: Sequence[str]) -> FloatArray:
        """See `TextEncoder.phrases`."""
        return self._along(self._whole.phrases(texts))

    def sentences(self, texts: Sequence[str]) -> FloatArray:
        """See `TextEncoder.sentences`."""
        return self._along(self._whole.sentences(texts))

    def tokens(self, texts: Sequence[str]) -> Iterator[tuple[AlignedText, FloatArray]]:
        """See `TextEncoder.tokens`."""
        for aligned, vectors in self._whole.tokens(texts):
            yield aligned, self._along(vectors)

    def _along(self, vectors: FloatArray) -> FloatArray:
        along: FloatArray = np.asarray(vectors @ self._projection.T, dtype=np.float32)
        return along
