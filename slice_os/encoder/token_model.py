"""A model that is ready to run: its card, tokenizer and engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slice_os.arrays import FloatArray, IntArray
from slice_os.encoder.alignment import AlignedText, Aligner, PieceWindow, plan_windows
from slice_os.encoder.engines import Engine, OnnxRuntimeEngine, pad
from slice_os.encoder.model_folder import (
    MODEL_FILE,
    TOKENIZER_FILE,
    ModelCard,
    check_hashes,
    content_id,
    model_folder,
    read_card,
)
from slice_os.errors import ModelError


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

    def windows(self, aligned: AlignedText, start: int, end: int) -> list[PieceWindow]:
        """The windows that give the pieces ``start:end`` of a text; see `plan_windows`."""
        return plan_windows(start, end, len(aligned.piece_ids), self.capacity, aligned.words[:, 2])

    def run(self, batch: Sequence[tuple[AlignedText, PieceWindow]]) -> tuple[FloatArray, IntArray]:
        """Run one forward pass over some windows of texts, with special tokens around each.

        Returns:
            Token vectors ``(batch, length, dimension)`` and a mask ``(batch, length)`` that is 0
            for padding.
        """
        prefix, suffix = self.aligner.prefix, self.aligner.suffix
        rows = [
            [*prefix, *aligned.piece_ids[window.start : window.end].tolist(), *suffix]
            for aligned, window in batch
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
