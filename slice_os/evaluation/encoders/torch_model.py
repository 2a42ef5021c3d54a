"""Hugging Face models run by torch: nothing has to be exported first."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from slice_os.arrays import FloatArray, IntArray
from slice_os.encoder.alignment import Aligner
from slice_os.encoder.hugging_face import load_encoder
from slice_os.encoder.model_folder import ModelCard
from slice_os.encoder.token_model import TokenModel


class TorchEngine:
    """A transformers model as an engine: on a GPU if torch has one, else on the CPU.

    Args:
        network: the model.
        threads: CPU threads of torch, for the whole process; its own choice if None.
    """

    workers = 1
    batch_pieces = 4_096

    def __init__(self, network: Any, threads: int | None = None) -> None:
        import torch

        if threads:
            torch.set_num_threads(threads)
        self._torch = torch
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._network = network.to(self._device)

    def run(self, ids: IntArray, mask: IntArray) -> FloatArray:
        """One forward pass; see `slice_os.encoder.engines.Engine.run`."""
        with self._torch.inference_mode():
            vectors = self._network(
                input_ids=self._torch.from_numpy(ids).to(self._device),
                attention_mask=self._torch.from_numpy(mask).to(self._device),
            ).last_hidden_state
        return np.asarray(vectors.float().cpu().numpy(), dtype=np.float32)


def load_torch_model(model: str, threads: int | None = None) -> TokenModel:
    """Load a Hugging Face encoder in fp32.

    Args:
        model: a folder of transformers or sentence-transformers, or a name on Hugging Face.
        threads: CPU threads of torch, for the whole process; its own choice if None.

    Raises:
        MissingExtraError: without torch.
        ModelError: if there is no such model, it is no encoder, or it has no fast tokenizer.
    """
    loaded = load_encoder(model)
    tokenizer, weights = loaded.plain_tokenizer(), loaded.weights_hash()
    identity = hashlib.sha256(weights.encode() + tokenizer.to_str().encode())
    card = ModelCard(
        encoder_id=identity.hexdigest()[:16],
        name=loaded.name,
        dimension=loaded.dimension,
        max_length=loaded.max_length,
        pooling="mean",
        min_words=1,
        max_words=20,
        precision="fp32",
        license=loaded.license,
        provenance=f"{loaded.name}, weights sha256 {weights}, in torch",
        threshold=0.6,
    )
    engine = TorchEngine(loaded.network, threads)
    return TokenModel(card, Aligner(tokenizer), engine, loaded.folder)
