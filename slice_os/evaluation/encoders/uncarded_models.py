"""Models without a card: ONNX folders of other tools, and Hugging Face models run by torch."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np

from slice_os.arrays import FloatArray, IntArray
from slice_os.encoder.alignment import Aligner
from slice_os.encoder.hugging_face import load_encoder, read_json
from slice_os.encoder.model_folder import MODEL_FILE, TOKENIZER_FILE, ModelCard, content_id
from slice_os.encoder.token_model import OnnxRuntimeEngine, TokenModel
from slice_os.errors import ModelError

DEFAULT_LENGTH = 512
_DEFAULTS: dict[str, Any] = {"pooling": "mean", "min_words": 1, "max_words": 20, "threshold": 0.6}


def is_onnx_folder(folder: Path) -> bool:
    """Whether a folder has a ``model.onnx`` and a ``tokenizer.json``."""
    return (folder / MODEL_FILE).is_file() and (folder / TOKENIZER_FILE).is_file()


def load_onnx_folder(model: str, threads: int | None = None) -> TokenModel:
    """Load an ONNX folder; the first output of its model has to be token vectors."""
    folder = Path(model)
    aligner = Aligner(folder / TOKENIZER_FILE)
    engine = OnnxRuntimeEngine(folder / MODEL_FILE, threads=threads)
    special = [*aligner.prefix, *aligner.suffix]
    probe = np.array([special or [0]], dtype=np.int64)
    vectors = engine.run(probe, np.ones_like(probe))
    if vectors.ndim != 3 or vectors.shape[:2] != probe.shape:
        raise ModelError(
            f"{folder / MODEL_FILE}: its first output is no token vectors; export the model "
            "without pooling, as `slice-os model export` does"
        )
    name = folder.resolve().name
    card = ModelCard(
        encoder_id=content_id(folder),
        name=name,
        dimension=vectors.shape[2],
        max_length=_max_length(folder),
        precision="unknown",
        license="unknown",
        provenance=f"{name}, as found",
        **_DEFAULTS,
    )
    return TokenModel(card, aligner, engine, folder)


def _max_length(folder: Path) -> int:
    """The least of what sentence-transformers, the tokenizer and the positions allow."""
    files = ("config.json", "sentence_bert_config.json", "tokenizer_config.json")
    config, sentences, tokenizer = (read_json(folder / name) or {} for name in files)
    limits = [sentences.get("max_seq_length"), tokenizer.get("model_max_length")]
    if positions := config.get("max_position_embeddings"):
        # RoBERTa and its relatives count positions from behind the padding's.
        shifted = any(name in config.get("model_type", "") for name in ("roberta", "mpnet"))
        limits.append(positions - (config.get("pad_token_id", 1) + 1 if shifted else 0))
    # A tokenizer without a limit reports 1e30.
    known = [int(limit) for limit in limits if limit and limit < 1e9]
    return min(known, default=DEFAULT_LENGTH)


class TorchEngine:
    """A transformers model on torch's GPU, else the CPU; threads are set for the whole process."""

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
        """One forward pass; see `slice_os.encoder.token_model.Engine.run`."""
        with self._torch.inference_mode():
            vectors = self._network(
                input_ids=self._torch.from_numpy(ids).to(self._device),
                attention_mask=self._torch.from_numpy(mask).to(self._device),
            ).last_hidden_state
        return np.asarray(vectors.float().cpu().numpy(), dtype=np.float32)


def load_torch_model(model: str, threads: int | None = None) -> TokenModel:
    """Load a Hugging Face encoder in fp32: a folder, or a name on Hugging Face."""
    loaded = load_encoder(model)
    tokenizer, weights = loaded.plain_tokenizer(), loaded.weights_hash()
    identity = hashlib.sha256(weights.encode() + tokenizer.to_str().encode())
    card = ModelCard(
        encoder_id=identity.hexdigest()[:16],
        name=loaded.name,
        dimension=loaded.dimension,
        max_length=loaded.max_length,
        precision="fp32",
        license=loaded.license,
        provenance=f"{loaded.name}, weights sha256 {weights}, in torch",
        **_DEFAULTS,
    )
    engine = TorchEngine(loaded.network, threads)
    return TokenModel(card, Aligner(tokenizer), engine, loaded.folder)
