"""The inference engine, where a model file meets a runtime, and the batches that it is given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from slice_os.arrays import FloatArray, IntArray
from slice_os.errors import EngineError, ModelError
from slice_os.threads import usable_cores

CPU = "CPUExecutionProvider"


class Engine(Protocol):
    """Maps padded batches of word-piece ids to token vectors; several threads may call it at once.

    Attributes:
        workers: forward passes to run in parallel.
        batch_pieces: padded word pieces that one forward pass should hold.
    """

    workers: int
    batch_pieces: int

    def run(self, ids: IntArray, mask: IntArray) -> FloatArray:
        """One forward pass.

        Args:
            ids: ``(batch, length)`` word-piece ids, padded on the right.
            mask: ``(batch, length)`` 1 for a piece, 0 for padding.

        Returns:
            ``(batch, length, dimension)`` token vectors; ignore those of padding.
        """


class OnnxRuntimeEngine:
    """onnxruntime, on CPU or any execution provider that it has.

    On CPU each forward pass takes one window on one thread, and as many run in parallel as there
    are threads. That needs no padding, is faster than padded batches, and makes the vectors of a
    dynamically quantised model independent of what else is encoded.

    Args:
        model_file: an ONNX file that ``slice-os model export`` made.
        providers: execution providers, first choice first, with or without the suffix
            ``ExecutionProvider``; CPU if None.
        threads: CPU threads to use; all usable cores if None.

    Raises:
        EngineError: if the first provider does not exist or does not load.
        ModelError: if the file is not an ONNX model.
    """

    def __init__(
        self,
        model_file: Path,
        providers: Sequence[str] | None = None,
        threads: int | None = None,
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
        try:
            self._session = onnxruntime.InferenceSession(
                str(model_file), sess_options=options, providers=wanted
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

    Returns:
        The ids, and a mask that is 1 for an id and 0 for padding, each ``(n_rows, longest)``.
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
