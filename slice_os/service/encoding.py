"""The encoders of a service: one for all stores of a model."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from slice_os.arrays import FloatArray
from slice_os.encoder import SpanEncoder
from slice_os.model import ModelCard, bundled_model
from slice_os.service.stopping import check_stopped


class SharedEncoder(SpanEncoder):
    """An encoder that many requests use at the same time."""

    def encode_phrases(self, phrases: Sequence[str]) -> FloatArray:
        """Unit vectors of phrases, unless the work should stop; see `SpanEncoder`."""
        check_stopped()
        return super().encode_phrases(phrases)


class Encoders:
    """The encoders by their id, each loaded once."""

    def __init__(self) -> None:
        self._loading = Lock()
        self._loaded: dict[str, SharedEncoder] = {}

    def of(self, card: ModelCard, location: str) -> SharedEncoder:
        """The encoder that made a store.

        Raises:
            StoreError: if it is not a bundled one.
        """
        with self._loading:
            if card.encoder_id not in self._loaded:
                self._loaded[card.encoder_id] = SharedEncoder(bundled_model(card, location))
            return self._loaded[card.encoder_id]

    def default(self) -> SharedEncoder:
        """The bundled default encoder, or the first one that a store needed."""
        with self._loading:
            if not self._loaded:
                encoder = SharedEncoder()
                self._loaded[encoder.card.encoder_id] = encoder
            return next(iter(self._loaded.values()))
