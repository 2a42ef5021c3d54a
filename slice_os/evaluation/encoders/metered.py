"""Span encoders whose forward passes are counted, and that also give vectors of sentences."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

import numpy as np

from slice_os.alignment import plan_windows
from slice_os.arrays import FloatArray, IntArray
from slice_os.encoder import PieceRange, SpanEncoder, plan_batches
from slice_os.engines import Engine


class Meter:
    """An engine that counts what goes through another one.

    Attributes:
        passes: texts, or windows of long ones.
        tokens: their word pieces, special tokens included.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = Lock()
        self.workers = engine.workers
        self.batch_pieces = engine.batch_pieces
        self.passes = 0
        self.tokens = 0

    def run(self, ids: IntArray, mask: IntArray) -> FloatArray:
        """One batch; see `Engine.run`."""
        with self._lock:
            self.passes += len(ids)
            self.tokens += int(mask.sum())
        return self._engine.run(ids, mask)


class MeteredSpanEncoder(SpanEncoder):
    """A model folder's span encoder, with a ``meter`` of its passes."""

    def __init__(self, model: str | Path | None = None, threads: int | None = None) -> None:
        super().__init__(model, threads=threads)
        self._engine = self.meter = Meter(self._engine)

    def sentences(self, texts: Sequence[str]) -> FloatArray:
        """The mean of all token vectors of each text, those of special tokens included.

        That is the vector of a sentence in sentence-transformers with mean pooling, where a
        text fits the model; of a longer one, here, the mean over its windows.

        Returns:
            ``(n_texts, dimension)`` float32, zeros for a text without word pieces.
        """
        aligned = [self.align(text) for text in texts]
        jobs = [
            (row, PieceRange(one, 0, len(one.piece_ids)), window)
            for row, one in enumerate(aligned)
            for window in plan_windows(
                0, len(one.piece_ids), len(one.piece_ids), self._capacity, one.words[:, 2]
            )
        ]
        batches = plan_batches([w.end - w.start for _, _, w in jobs], self._engine.batch_pieces)
        sums = np.zeros((len(texts), self.card.dimension))
        counts = np.zeros(len(texts))

        def run(batch: list[int]) -> tuple[FloatArray, IntArray]:
            ids, mask = self._pad([jobs[job][1:] for job in batch])
            vectors = self._engine.run(ids, mask)
            return np.einsum("bld,bl->bd", vectors, mask.astype(np.float32)), mask.sum(axis=1)

        with ThreadPoolExecutor(self._engine.workers, thread_name_prefix="encode") as executor:
            for batch, (vectors, pieces) in zip(batches, executor.map(run, batches), strict=True):
                rows = [jobs[job][0] for job in batch]
                np.add.at(sums, rows, vectors)
                np.add.at(counts, rows, pieces)
        means: FloatArray = (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)
        return means
