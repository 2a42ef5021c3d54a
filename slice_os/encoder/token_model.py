"""A model that is ready to run: its card, tokenizer and engine; and its projection, if any."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from slice_os.arrays import FloatArray, IntArray
from slice_os.encoder.alignment import AlignedText, Aligner, PieceWindow, plan_windows
from slice_os.encoder.engines import Engine, OnnxRuntimeEngine, pad, plan_batches
from slice_os.encoder.model_folder import (
    MODEL_FILE,
    PROJECTION_FILE,
    TOKENIZER_FILE,
    ModelCard,
    check_hashes,
    content_id,
    model_folder,
    read_card,
)
from slice_os.errors import ModelError

# A projection is stored as float16.
_ORTHONORMAL = 1e-3


Job: TypeAlias = tuple[int, AlignedText, PieceWindow]
"""A window to encode: the number of its range, the text, and its pieces."""


@dataclass(frozen=True, slots=True)
class TokenModel:
    """A loaded model, from windows of word pieces to token vectors, and the folder of its files."""

    card: ModelCard
    aligner: Aligner
    engine: Engine
    folder: Path

    @property
    def capacity(self) -> int:
        """Word pieces that fit into one window, not counting special tokens."""
        return self.card.max_length - len(self.aligner.prefix) - len(self.aligner.suffix)

    def batches(self, ranges: Iterable[tuple[AlignedText, int, int]]) -> list[list[Job]]:
        """The windows that give the pieces ``start:end`` of texts, in batches for the engine."""
        jobs: list[Job] = []
        for row, (aligned, start, end) in enumerate(ranges):
            n_pieces, boundaries = len(aligned.piece_ids), aligned.words[:, 2]
            windows = plan_windows(start, end, n_pieces, self.capacity, boundaries)
            jobs += ((row, aligned, window) for window in windows)
        lengths = [window.end - window.start for _, _, window in jobs]
        planned = plan_batches(lengths, self.engine.batch_pieces)
        return [[jobs[job] for job in batch] for batch in planned]

    def run(self, batch: Sequence[Job]) -> tuple[FloatArray, IntArray]:
        """Run one forward pass over some windows of texts, with special tokens around each.

        Returns:
            Token vectors ``(batch, length, dimension)`` and a mask ``(batch, length)`` that is 0
            for padding.
        """
        prefix, suffix = self.aligner.prefix, self.aligner.suffix
        rows = [
            [*prefix, *aligned.piece_ids[window.start : window.end].tolist(), *suffix]
            for _, aligned, window in batch
        ]
        ids, mask = pad(rows)
        vectors = self.engine.run(ids, mask)
        if vectors.shape != (*ids.shape, self.card.dimension):
            raise ModelError(
                f"{self.folder}: returns vectors of shape {vectors.shape}, not "
                f"{(*ids.shape, self.card.dimension)}; export the model again"
            )
        return vectors, mask


def load_model(
    model: str | Path | None = None,
    *,
    providers: Sequence[str] | None = None,
    threads: int | None = None,
) -> TokenModel:
    """Load a model folder; see `SpanEncoder` for the arguments.

    Raises:
        ModelError: if the folder holds no model, or its files do not match its card.
        EngineError: if the provider does not load.
    """
    folder = model_folder(model)
    card = read_card(folder)
    if content_id(folder) != card.encoder_id:
        raise ModelError(f"{folder}: model or tokenizer changed since export; export it again")
    check_hashes(folder)
    aligner = Aligner(folder / TOKENIZER_FILE)
    engine = OnnxRuntimeEngine(folder / MODEL_FILE, providers, threads)
    loaded = TokenModel(card, aligner, engine, folder)
    if loaded.capacity < 1:
        raise ModelError(f"{folder}: max_length {card.max_length} leaves no room for a text")
    return loaded


def principal_projection(vectors: npt.NDArray[np.float64]) -> FloatArray:
    """The principal directions of ``(n, dimension)`` unit vectors, by falling spread, one a row.

    Rotating by all of them changes no cosine; the first rows keep as much of the cosines as that
    many numbers can. The vectors are not centred, since cosines are not.
    """
    _, directions = np.linalg.eigh(vectors.T @ vectors)
    return np.ascontiguousarray(directions[:, ::-1].T, dtype=np.float32)


def read_projection(folder: Path, dimension: int) -> FloatArray | None:
    """The ``(dimension, dimension)`` projection of a model folder, one direction a row, if any.

    Raises a `ModelError` if the file does not hold that many orthonormal rows.
    """
    path = folder / PROJECTION_FILE
    if not path.is_file():
        return None
    try:
        # Mapped, so that a header cannot make it larger than the file.
        stored = np.load(path, mmap_mode="r", allow_pickle=False)
        square = stored.shape == (dimension, dimension) and stored.dtype.kind == "f"
        projection = np.asarray(stored, dtype=np.float32) if square else None
    except (OSError, ValueError, EOFError):
        projection = None
    if projection is not None:
        products = projection @ projection.T
        if np.abs(products - np.eye(dimension)).max() < _ORTHONORMAL:
            return projection
    raise ModelError(
        f"{path}: not {dimension} orthonormal rows; delete it, or train or export again"
    )
