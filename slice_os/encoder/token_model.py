"""The inference engine, where a model file meets a runtime, and a model that is ready to run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from slice_os.arrays import FloatArray, IntArray
from slice_os.encoder.alignment import AlignedText, Aligner, PieceWindow, plan_windows
from slice_os.encoder.integers import EXACT, saturates
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
from slice_os.errors import EngineError, ModelError
from slice_os.threads import usable_cores

CPU = "CPUExecutionProvider"

# A projection is stored as float16.
_ORTHONORMAL = 1e-3

Job: TypeAlias = tuple[int, AlignedText, PieceWindow]
"""A window to encode: the number of its range, the text, and its pieces."""


class Engine(Protocol):
    """Maps padded batches of word-piece ids to token vectors; several threads may call it at once.

    So many workers run in parallel, each with about ``batch_pieces`` padded word pieces.
    """

    workers: int
    batch_pieces: int

    def run(self, ids: IntArray, mask: IntArray) -> FloatArray:
        """One forward pass over ``(batch, length)`` ids, padded on the right.

        The mask is 1 for a piece, 0 for padding.

        Returns ``(batch, length, dimension)`` token vectors; ignore those of padding.
        """


class OnnxRuntimeEngine:
    """onnxruntime, on CPU or any execution provider that it has.

    On CPU each forward pass takes one window on one thread, and as many run in parallel as there
    are threads. That needs no padding, is faster than padded batches, and makes the vectors of a
    dynamically quantised model independent of what else is encoded. Sums of integers are exact on
    every processor.

    Args:
        model_file: an ONNX file that ``slice-os model export`` made.
        providers: execution providers, first choice first, with or without the suffix
            ``ExecutionProvider``; CPU if None.
        threads: CPU threads to use; all usable cores if None.
        without: optimizers of onnxruntime that are left out.

    Raises an `EngineError` if the first provider does not exist or does not load, and a
    `ModelError` if the file is not an ONNX model.
    """

    def __init__(
        self,
        model_file: Path,
        providers: Sequence[str] | None = None,
        threads: int | None = None,
        without: Sequence[str] = (),
    ) -> None:
        import onnxruntime

        wanted = [_provider_name(name, onnxruntime) for name in providers or [CPU]]
        on_cpu = wanted[0] == CPU
        threads = threads or usable_cores()
        self.workers = threads if on_cpu else 1
        self.batch_pieces = 1 if on_cpu else 16_384
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1 if on_cpu else threads
        options.log_severity_level = 3
        if saturates():
            options.add_session_config_entry(*EXACT)
        try:
            self._session = onnxruntime.InferenceSession(
                str(model_file),
                sess_options=options,
                providers=wanted,
                disabled_optimizers=list(without),
            )
        except Exception as error:  # the library raises many kinds
            raise _refusal(model_file, "load", error) from None
        loaded = self._session.get_providers()
        if loaded[0] != wanted[0]:
            raise EngineError(
                f"provider {wanted[0]} did not load (onnxruntime fell back to {loaded[0]}); "
                "check its driver and libraries, or use CPU"
            )
        self._file = model_file
        self._inputs = {put.name for put in self._session.get_inputs()}
        self._output = self._session.get_outputs()[0].name

    def run(self, ids: IntArray, mask: IntArray, types: IntArray | None = None) -> FloatArray:
        """One forward pass; see `Engine.run`.

        A model that reads token types is given ``types``, ``(batch, length)``, or zeros.

        Raises a `ModelError` if the model cannot read the ids.
        """
        feeds = {"input_ids": ids, "attention_mask": mask}
        if "token_type_ids" in self._inputs:
            feeds["token_type_ids"] = np.zeros_like(ids) if types is None else types
        try:
            (vectors,) = self._session.run([self._output], feeds)
        except Exception as error:  # the library raises many kinds
            raise _refusal(self._file, "run", error) from None
        return np.asarray(vectors, dtype=np.float32)


def plan_batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Group the indices of rows of similar length, longest first, within a budget of padded pieces.

    A row longer than the budget gets a batch to itself.
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


def pad(rows: Sequence[Sequence[int] | IntArray]) -> tuple[IntArray, IntArray]:
    """Pad rows of ids with zeros, on the right, to the longest.

    Returns the ids, and a mask that is 1 for an id and 0 for padding, each ``(n_rows, longest)``.
    """
    ids = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
    mask = np.zeros_like(ids)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = row
        mask[index, : len(row)] = 1
    return ids, mask


def _refusal(model_file: Path, task: str, error: Exception) -> ModelError:
    reason = str(error).splitlines()[0]
    return ModelError(f"{model_file}: onnxruntime cannot {task} it ({reason})")


def _provider_name(name: str, onnxruntime: Any) -> str:
    suffix = "ExecutionProvider"
    available: dict[str, str] = {one.lower(): one for one in onnxruntime.get_available_providers()}
    wanted = f"{name.lower().removesuffix(suffix.lower())}{suffix.lower()}"
    if wanted in available:
        return available[wanted]
    have = ", ".join(provider.removesuffix(suffix) for provider in available.values())
    hint = "; for CUDA: pip install 'slice-os[gpu]'" if "cuda" in wanted else ""
    raise EngineError(f"no execution provider {name!r} in this onnxruntime (it has {have}){hint}")


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

        Returns token vectors ``(batch, length, dimension)`` and a mask ``(batch, length)`` that is
        0 for padding.
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

    Raises a `ModelError` if the folder holds no model, or its files do not match its card, and an
    `EngineError` if the provider does not load.
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
    with suppress(OSError, ValueError, EOFError):
        # Mapped, so that a header cannot make it larger than the file.
        stored = np.lib.format.open_memmap(path, mode="r")
        if stored.shape == (dimension, dimension) and stored.dtype.kind == "f":
            projection: FloatArray = np.asarray(stored, dtype=np.float32)
            products = projection @ projection.T
            if np.abs(products - np.eye(dimension)).max() < _ORTHONORMAL:
                return projection
    raise ModelError(
        f"{path}: not {dimension} orthonormal rows; delete it, or train or export again"
    )
