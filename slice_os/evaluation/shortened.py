"""An encoder with shorter vectors: their coordinates along the first axes of its model."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from slice_os.alignment import AlignedText
from slice_os.encoder import SpanEncoder
from slice_os.engines import FloatArray
from slice_os.errors import InputError
from slice_os.evaluation.encoders import Cost, Representation, SpanTextEncoder


class ShortenedEncoder:
    """The vectors of another encoder along some of its model's axes, as an index keeps them.

    Args:
        whole: the encoder.
        count: axes to keep.

    Raises:
        InputError: where the model has no axes, or not so many.
    """

    def __init__(self, whole: SpanTextEncoder, count: int) -> None:
        axes = None if whole.spans is None else whole.spans.axes
        if axes is None:
            raise InputError(f"encoder {whole.name!r} has no axes.npy; export it with slice-os")
        if not 0 < count <= len(axes):
            raise InputError(f"encoder {whole.name!r} has {len(axes)} axes; give 1 to {len(axes)}")
        self._whole = whole
        self._axes: FloatArray = axes[:count]
        self.name = f"{whole.name}, {count} axes"
        digest = hashlib.sha256(self._axes.tobytes()).hexdigest()[:16]
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
        along: FloatArray = np.asarray(vectors @ self._axes.T, dtype=np.float32)
        return along
