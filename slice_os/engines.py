"""Inference engines: the one place where a model file meets a runtime.

An engine maps a padded batch of word-piece ids to token vectors. Several threads call it at
once; each call is one forward pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol

import numpy as np

from slice_os.arrays import FloatArray, IntArray
from slice_os.engine_names import ENGINES
from slice_os.errors import EngineError, MissingExtraError, ModelError
from slice_os.float_products import with_float_products
from slice_os.threads import usable_cores

CPU = "CPUExecutionProvider"
PADDED_TO = 16


class Engine(Protocol):
    """What the encoder needs from a runtime.

    Attributes:
        workers: how many forward passes to run in parallel.
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
        ...


class OnnxRuntimeEngine:
    """onnxruntime, on CPU or any execution provider that it has.

    On CPU each forward pass takes one window on one thread, and as many run in parallel as there
    are threads. That needs no padding, is faster than padded batches, and makes the vectors of a
    dynamically quantised model independent of what else is encoded.

    Args:
        model_file: an ONNX file that ``slice-os export`` made.
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
            reason = str(error).splitlines()[0]
            raise ModelError(f"{model_file}: onnxruntime cannot load it ({reason})") from None
        loaded = self._session.get_providers()
        if loaded[0] != wanted[0]:
            raise EngineError(
                f"provider {wanted[0]} did not load (onnxruntime fell back to {loaded[0]}); "
                "check its driver and libraries, or use CPU"
            )
        self._inputs = {put.name for put in self._session.get_inputs()}
        self._output = self._session.get_outputs()[0].name

    def run(self, ids: IntArray, mask: IntArray) -> FloatArray:
        """One forward pass; see `Engine.run`."""
        feeds = {"input_ids": ids, "attention_mask": mask}
        if "token_type_ids" in self._inputs:
            feeds["token_type_ids"] = np.zeros_like(ids)
        (vectors,) = self._session.run([self._output], feeds)
        return np.asarray(vectors, dtype=np.float32)


class OpenVINOEngine:
    """OpenVINO on the same ONNX file, for CPUs that multiply bfloat16 numbers.

    It quantises no activations, see `slice_os.float_products`. Windows are padded to a multiple of
    `PADDED_TO`; then the vectors of one depend neither on its padding nor on its batch.

    Args:
        model_file: an ONNX file that ``slice-os export`` made, in any precision.
        max_length: word pieces of the longest input. If it is no multiple of `PADDED_TO`, each
            forward pass takes one window.
        threads: CPU threads to use; all usable cores if None.

    Raises:
        MissingExtraError: if OpenVINO is not installed.
        ModelError: if the file is not an ONNX model, or OpenVINO cannot compile it.
    """

    def __init__(self, model_file: Path, max_length: int, threads: int | None = None) -> None:
        try:
            import onnx  # noqa: F401
            import openvino
        except ImportError:
            raise MissingExtraError("The OpenVINO engine", "openvino") from None
        self.workers = threads or usable_cores()
        self.batch_pieces = 1 if max_length % PADDED_TO else 512
        self._max_length = max_length
        config: dict[str, Any] = {
            "PERFORMANCE_HINT": "THROUGHPUT",
            "NUM_STREAMS": self.workers,
            "INFERENCE_NUM_THREADS": self.workers,
        }
        core = openvino.Core()
        try:
            model = core.read_model(with_float_products(model_file).SerializeToString())
            self._model = core.compile_model(model, "CPU", config)
        except Exception as error:  # both libraries raise many kinds
            reason = str(error).strip().splitlines()[-1]
            raise ModelError(f"{model_file}: OpenVINO cannot compile it ({reason})") from None
        self._inputs = {name for put in self._model.inputs for name in put.get_names()}
        self._free: SimpleQueue[Any] = SimpleQueue()
        for _ in range(self.workers):
            self._free.put(self._model.create_infer_request())
        # The first call sets up OpenVINO's binding, which deadlocks if two threads do it at once.
        self.run(np.zeros((1, 1), dtype=np.int64), np.ones((1, 1), dtype=np.int64))

    def run(self, ids: IntArray, mask: IntArray) -> FloatArray:
        """One forward pass; see `Engine.run`."""
        length = ids.shape[1]
        padding = ((0, 0), (0, min(-length % PADDED_TO, self._max_length - length)))
        ids, mask = np.pad(ids, padding), np.pad(mask, padding)
        feeds = {"input_ids": ids, "attention_mask": mask}
        if "token_type_ids" in self._inputs:
            feeds["token_type_ids"] = np.zeros_like(ids)
        request = self._free.get()
        try:
            return np.array(request.infer(feeds)[0][:, :length], dtype=np.float32)
        finally:
            self._free.put(request)


def open_engine(
    name: str,
    model_file: Path,
    max_length: int,
    providers: Sequence[str] | None = None,
    threads: int | None = None,
) -> Engine:
    """Open a model file, for inputs of at most ``max_length``, with the engine of that name.

    Raises:
        EngineError: if there is no such engine, or it takes no execution providers.
    """
    if name == "onnxruntime":
        return OnnxRuntimeEngine(model_file, providers, threads)
    if name == "openvino":
        if providers:
            raise EngineError("the OpenVINO engine takes no execution providers; remove them")
        return OpenVINOEngine(model_file, max_length, threads)
    raise EngineError(f"no engine {name!r}; choose from {', '.join(ENGINES)}")


def _provider_name(name: str, onnxruntime: Any) -> str:
    available: list[str] = onnxruntime.get_available_providers()
    for candidate in available:
        if candidate.lower().removesuffix("executionprovider") == name.lower().removesuffix(
            "executionprovider"
        ):
            return candidate
    have = ", ".join(provider.removesuffix("ExecutionProvider") for provider in available)
    hint = "; for CUDA: pip install 'slice-os[gpu]'" if "cuda" in name.lower() else ""
    raise EngineError(f"no execution provider {name!r} in this onnxruntime (it has {have}){hint}")
