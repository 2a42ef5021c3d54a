"""The span encoder: texts in, token vectors out, whose mean over any words is that phrase."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from slice_os.alignment import AlignedText, Aligner, Window, plan_windows
from slice_os.arrays import FloatArray
from slice_os.calibration import Calibration, read_calibration
from slice_os.documents import check_text
from slice_os.engines import Engine, open_engine
from slice_os.errors import InputError, ModelError
from slice_os.model import (
    MODEL_FILE,
    TOKENIZER_FILE,
    ModelCard,
    content_id,
    model_folder,
    projection_file,
    read_card,
)

POOL_PIECES = 32_768


@dataclass(frozen=True, slots=True)
class PieceRange:
    """Some consecutive word pieces of a text; the unit that is encoded and handed on."""

    aligned: AlignedText
    start: int
    end: int


class SpanEncoder:
    """Token vectors of texts and phrase vectors of queries, by one model.

    Args:
        model: a model folder, a bundled model's name, or None for the bundled default.
        engine: ``onnxruntime`` or ``openvino``.
        providers: onnxruntime execution providers, first choice first; CPU for None.
        threads: CPU threads; all usable cores for None.

    Raises:
        ModelError: if the folder is no model, or its files do not match its card.
        EngineError: if the engine or provider did not load.
    """

    def __init__(
        self,
        model: str | Path | None = None,
        *,
        engine: str = "onnxruntime",
        providers: Sequence[str] | None = None,
        threads: int | None = None,
    ) -> None:
        folder = model_folder(model)
        self.card: ModelCard = read_card(folder)
        if content_id(folder) != self.card.encoder_id:
            raise ModelError(f"{folder}: model or tokenizer changed since export; export it again")
        self.folder = folder
        self._aligner = Aligner(folder / TOKENIZER_FILE)
        self._engine: Engine = open_engine(engine, folder / MODEL_FILE, providers, threads)
        self._capacity = (
            self.card.max_length - len(self._aligner.prefix) - len(self._aligner.suffix)
        )

    @cached_property
    def projection(self) -> FloatArray | None:
        """An orthonormal projection, ``(dimension, dimension)``, a direction a row.

        Its first rows keep most of the cosines of phrases with spans: training found them, or
        they are the principal directions of span vectors. None if the model folder has none.
        """
        path = projection_file(self.folder)
        if path is None:
            return None
        projection: FloatArray = np.load(path, allow_pickle=False).astype(np.float32)
        return projection

    @cached_property
    def calibration(self) -> Calibration | None:
        """The map from cosines to probabilities; None if the model folder has none.

        Raises:
            ModelError: if it is not one of this encoder.
        """
        return read_calibration(self.folder, self.card.encoder_id)

    def align(self, text: str) -> AlignedText:
        """Words and word pieces of a text; see `Aligner.align`."""
        return self._aligner.align(text)

    def encode(self, ranges: Iterable[PieceRange]) -> Iterator[FloatArray]:
        """Token vectors of piece ranges, in their order, reading only a little ahead.

        A range's vectors depend on its text alone, never on the ranges beside it. While the
        caller works on some, the next are encoded.

        Yields:
            ``(end - start, dimension)`` float32 for each range.
        """
        executor = ThreadPoolExecutor(self._engine.workers, thread_name_prefix="encode")
        try:
            ahead: Callable[[], list[FloatArray]] | None = None
            for pool in _pools(ranges):
                ready, ahead = ahead, self._start(pool, executor)
                if ready is not None:
                    yield from ready()
            if ahead is not None:
                yield from ahead()
        finally:
            executor.shutdown(cancel_futures=True)

    def encode_text(self, text: str) -> tuple[AlignedText, FloatArray]:
        """A whole text aligned, and its ``(n_pieces, dimension)`` token vectors."""
        aligned = self.align(text)
        (vectors,) = self.encode([PieceRange(aligned, 0, len(aligned.piece_ids))])
        return aligned, vectors

    def encode_phrases(self, phrases: Sequence[str]) -> FloatArray:
        """Unit vectors of origin phrases: the mean of each one's token vectors, normalised.

        Returns:
            ``(n_phrases, dimension)`` float32.

        Raises:
            InputError: on a phrase without a word, or with a lone surrogate.
        """
        for phrase in phrases:
            check_text(phrase, where=f"phrase {phrase!r}")
        aligned = [self.align(phrase) for phrase in phrases]
        for phrase, text in zip(phrases, aligned, strict=True):
            if not len(text.words):
                raise InputError(f"the phrase {phrase!r} has no word to search for")
        ranges = [PieceRange(text, 0, len(text.piece_ids)) for text in aligned]
        means = [vectors.mean(axis=0) for vectors in self.encode(ranges)]
        matrix = np.array(means, dtype=np.float32).reshape(-1, self.card.dimension)
        lengths = np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-12)
        units: FloatArray = (matrix / lengths).astype(np.float32)
        return units

    def _start(
        self, pool: list[PieceRange], executor: ThreadPoolExecutor
    ) -> Callable[[], list[FloatArray]]:
        """Begin to encode a pool; the function returned waits for its vectors."""
        results = [
            np.empty((piece_range.end - piece_range.start, self.card.dimension), np.float32)
            for piece_range in pool
        ]
        jobs = [
            (index, window)
            for index, piece_range in enumerate(pool)
            for window in plan_windows(
                piece_range.start,
                piece_range.end,
                len(piece_range.aligned.piece_ids),
                self._capacity,
                piece_range.aligned.words[:, 2],
            )
        ]
        batches = plan_batches([w.end - w.start for _, w in jobs], self._engine.batch_pieces)

        def run(batch: list[int]) -> None:
            vectors = self._engine.run(*self._pad([(pool[jobs[j][0]], jobs[j][1]) for j in batch]))
            for row, job in enumerate(batch):
                index, window = jobs[job]
                offset = len(self._aligner.prefix) - window.start
                results[index][
                    window.keep_start - pool[index].start : window.keep_end - pool[index].start
                ] = vectors[row, window.keep_start + offset : window.keep_end + offset]

        futures = [executor.submit(run, batch) for batch in batches]

        def wait() -> list[FloatArray]:
            for future in futures:
                future.result()
            return results

        return wait

    def _pad(self, batch: list[tuple[PieceRange, Window]]) -> tuple[np.ndarray, np.ndarray]:
        prefix, suffix = self._aligner.prefix, self._aligner.suffix
        rows = [
            [*prefix, *piece_range.aligned.piece_ids[window.start : window.end].tolist(), *suffix]
            for piece_range, window in batch
        ]
        ids = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for index, row in enumerate(rows):
            ids[index, : len(row)] = row
            mask[index, : len(row)] = 1
        return ids, mask


def plan_batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Batches of similar length, longest first, each within a budget of padded pieces.

    Args:
        lengths: pieces of each window.
        budget: pieces that a padded batch may hold; a longer window makes a batch of its own.

    Returns:
        Indices into ``lengths``; each index once.
    """
    batches: list[list[int]] = []
    widest = 0
    for index in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        if batches and widest * (len(batches[-1]) + 1) <= budget:
            batches[-1].append(index)
        else:
            batches.append([index])
            widest = lengths[index]
    return batches


def _pools(ranges: Iterable[PieceRange]) -> Iterator[list[PieceRange]]:
    pool: list[PieceRange] = []
    pieces = 0
    for piece_range in ranges:
        pool.append(piece_range)
        pieces += piece_range.end - piece_range.start
        if pieces >= POOL_PIECES:
            yield pool
            pool, pieces = [], 0
    if pool:
        yield pool
