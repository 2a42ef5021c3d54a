"""The encoders of a service: one for all stores of a model."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.encoder.model_folder import ModelCard, bundled_model
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.service.stopping import check_stopped


class SharedEncoder(SpanEncoder):
    """An encoder that many requests use at the same time.

    While the phrases of some requests are encoded, those of others gather, and are then encoded
    together.
    """

    def __init__(self, model: str | Path | None = None) -> None:
        super().__init__(model)
        self._waiting: deque[_Job] = deque()
        self._encoding = Lock()

    def encode_phrases(self, phrases: Sequence[str]) -> FloatArray:
        """Unit vectors of phrases, unless the work should stop; see `SpanEncoder`."""
        if isinstance(phrases, str):
            return super().encode_phrases(phrases)  # which refuses it
        job = _Job(phrases)
        self._waiting.append(job)
        with self._encoding:
            if not job.done.done():
                check_stopped()
                self._encode([self._waiting.popleft() for _ in range(len(self._waiting))])
        return job.done.result()

    def _encode(self, jobs: Sequence[_Job]) -> None:
        try:
            vectors = super().encode_phrases([text for job in jobs for text in job.phrases])
        except Exception as error:
            # One request's phrases must not spoil the others'.
            if len(jobs) == 1:
                jobs[0].done.set_exception(error)
            else:
                for job in jobs:
                    self._encode([job])
            return
        ends = np.cumsum([len(job.phrases) for job in jobs])
        for job, found in zip(jobs, np.split(vectors, ends[:-1]), strict=True):
            job.done.set_result(found)


@dataclass(frozen=True, slots=True)
class _Job:
    """The phrases of a request, and their vectors as soon as they are done."""

    phrases: Sequence[str]
    done: Future[FloatArray] = field(default_factory=Future)


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
