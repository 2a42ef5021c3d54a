"""Encoders with shorter vectors: their coordinates along the first rows of a projection."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.encoder.alignment import AlignedText
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import InputError
from slice_os.evaluation.encoders.base import Cost, Representation
from slice_os.evaluation.encoders.span import SpanTextEncoder, open_mean
from slice_os.evaluation.encoders.spec import EncoderSpec


class TruncatedEncoder:
    """Another encoder with its vectors shortened, as an index shortens them.

    Args:
        whole: the encoder.
        truncate_dim: dimensions to keep, of its model's projection.

    Raises:
        InputError: if the model has no projection, or fewer dimensions.
    """

    def __init__(self, whole: SpanTextEncoder, truncate_dim: int) -> None:
        projection = whole.spans.projection
        if projection is None:
            raise InputError(
                f"encoder {whole.name!r} has no projection.npy; export it with slice-os"
            )
        if not 0 < truncate_dim <= len(projection):
            raise InputError(
                f"encoder {whole.name!r} has {len(projection)} dimensions; "
                f"give 1 to {len(projection)}"
            )
        self._whole = whole
        self._projection: FloatArray = projection[:truncate_dim]
        self.name = f"{whole.name}, {truncate_dim} dimensions"
        digest = hashlib.sha256(self._projection.tobytes()).hexdigest()[:16]
        # Caches keep vectors under this key, so its wording stays.
        self.identity = f"{whole.identity}-axes-{truncate_dim}-{digest}"
        self.representation: Representation = "mean"
        self.spans: SpanEncoder | None = None

    @property
    def cost(self) -> Cost:
        """See `TextEncoder.cost`."""
        return self._whole.cost

    def phrases(self, texts: Sequence[str]) -> FloatArray:
        """See `TextEncoder.phrases`."""
        return self._shorten(self._whole.phrases(texts))

    def sentences(self, texts: Sequence[str]) -> FloatArray:
        """See `TextEncoder.sentences`."""
        return self._shorten(self._whole.sentences(texts))

    def tokens(self, texts: Sequence[str]) -> Iterator[tuple[AlignedText, FloatArray]]:
        """See `TextEncoder.tokens`."""
        for aligned, vectors in self._whole.tokens(texts):
            yield aligned, self._shorten(vectors)

    def _shorten(self, vectors: FloatArray) -> FloatArray:
        shortened: FloatArray = np.asarray(vectors @ self._projection.T, dtype=np.float32)
        return shortened


def open_truncated(spec: EncoderSpec) -> TruncatedEncoder:
    """Open ``truncate-N:MODEL``."""
    return TruncatedEncoder(open_mean(spec), int(spec.kind.rpartition("-")[2]))
