"""Vectors of sentences, as sentence-transformers makes them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from slice_os.arrays import FloatArray, IntArray
from slice_os.encoder.batches import plan_batches
from slice_os.encoder.token_model import TokenModel


def sentence_vectors(model: TokenModel, texts: Sequence[str]) -> FloatArray:
    """The mean of all token vectors of each text, those of special tokens included.

    For a text that fits the model, this is the sentence vector of sentence-transformers with
    mean pooling; for a longer one, it is the mean over all windows.

    Returns:
        ``(n_texts, dimension)`` float32, zeros for a text without word pieces.
    """
    aligned = [model.aligner.align(text) for text in texts]
    jobs = [
        (row, one, window)
        for row, one in enumerate(aligned)
        for window in model.windows(one, 0, len(one.piece_ids))
    ]
    lengths = [window.end - window.start for _, _, window in jobs]
    batches = plan_batches(lengths, model.engine.batch_pieces)
    sums = np.zeros((len(texts), model.card.dimension))
    counts = np.zeros(len(texts))

    def run(batch: list[int]) -> tuple[FloatArray, IntArray]:
        vectors, mask = model.run([jobs[job][1:] for job in batch])
        return np.einsum("bld,bl->bd", vectors, mask.astype(np.float32)), mask.sum(axis=1)

    with ThreadPoolExecutor(model.engine.workers, thread_name_prefix="encode") as executor:
        for batch, (vectors, pieces) in zip(batches, executor.map(run, batches), strict=True):
            rows = [jobs[job][0] for job in batch]
            np.add.at(sums, rows, vectors)
            np.add.at(counts, rows, pieces)
    means: FloatArray = (sums / np.maximum(counts, 1)[:, None]).astype(np.float32)
    return means
