"""Hugging Face encoders in torch, as span encoders: nothing has to be exported first."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from slice_os.alignment import Aligner
from slice_os.arrays import FloatArray, IntArray
from slice_os.evaluation.encoders.metered import Meter, MeteredSpanEncoder
from slice_os.model import ModelCard


class TorchEngine:
    """A transformers model as an engine: on a GPU where torch has one, else on the CPU."""

    workers = 1
    batch_pieces = 4_096

    def __init__(self, model: Any, threads: int | None = None) -> None:
        import torch

        if threads:
            torch.set_num_threads(threads)
        self._torch = torch
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._model = model.to(self._device)

    def run(self, ids: IntArray, mask: IntArray) -> FloatArray:
        """One forward pass; see `slice_os.engines.Engine.run`."""
        with self._torch.inference_mode():
            vectors = self._model(
                input_ids=self._torch.from_numpy(ids).to(self._device),
                attention_mask=self._torch.from_numpy(mask).to(self._device),
            ).last_hidden_state
        return np.asarray(vectors.float().cpu().numpy(), dtype=np.float32)


class TorchSpanEncoder(MeteredSpanEncoder):
    """A Hugging Face encoder by name or folder, fp32, that works wherever a `SpanEncoder` does.

    Args:
        model: a folder of transformers or sentence-transformers, or a name on Hugging Face.
        threads: CPU threads of torch, for the whole process; its own choice for None.

    Raises:
        MissingExtraError: without torch.
        ModelError: if there is no such model, it is no encoder, or has no fast tokenizer.
    """

    def __init__(self, model: str, threads: int | None = None) -> None:
        from slice_os.export.source import load_source

        source = load_source(model)
        self._aligner = Aligner(source.tokenizer)
        written = source.tokenizer.to_str().encode()
        self.folder = Path(model)
        self.card = ModelCard(
            encoder_id=hashlib.sha256(source.weights.encode() + written).hexdigest()[:16],
            name=source.name,
            dimension=source.model.config.hidden_size,
            max_length=source.max_length,
            pooling="mean",
            min_words=1,
            max_words=20,
            precision="fp32",
            license=source.license,
            provenance=f"{source.name}, weights sha256 {source.weights}, in torch",
            threshold=0.6,
        )
        self._engine = self.meter = Meter(TorchEngine(source.model, threads))
        self._capacity = source.max_length - len(self._aligner.prefix) - len(self._aligner.suffix)
