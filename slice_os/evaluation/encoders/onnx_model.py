"""ONNX folders of other tools, such as optimum: a model and a tokenizer without our card."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import orjson

from slice_os.encoder.alignment import Aligner
from slice_os.encoder.engines import OnnxRuntimeEngine
from slice_os.encoder.model_folder import MODEL_FILE, TOKENIZER_FILE, ModelCard, content_id
from slice_os.encoder.token_model import TokenModel
from slice_os.errors import ModelError

DEFAULT_LENGTH = 512


def is_onnx_folder(folder: Path) -> bool:
    """Whether a folder has a ``model.onnx`` and a ``tokenizer.json``."""
    return (folder / MODEL_FILE).is_file() and (folder / TOKENIZER_FILE).is_file()


def load_onnx_folder(folder: Path, threads: int | None = None) -> TokenModel:
    """Load a folder with ``model.onnx`` and ``tokenizer.json``.

    Args:
        folder: the folder; the first output of its model has to be token vectors.
        threads: CPU threads; all usable cores if None.

    Raises:
        ModelError: if the model cannot be loaded, or gives something else.
    """
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
        pooling="mean",
        min_words=1,
        max_words=20,
        precision="unknown",
        license="unknown",
        provenance=f"{name}, as found",
        threshold=0.6,
    )
    return TokenModel(card, aligner, engine, folder)


def _max_length(folder: Path) -> int:
    """The least of what sentence-transformers, the tokenizer and the positions allow."""
    config = _read(folder / "config.json")
    limits = [
        _read(folder / "sentence_bert_config.json").get("max_seq_length"),
        _read(folder / "tokenizer_config.json").get("model_max_length"),
    ]
    if positions := config.get("max_position_embeddings"):
        # RoBERTa and its relatives count positions from behind the padding's.
        shifted = any(name in config.get("model_type", "") for name in ("roberta", "mpnet"))
        limits.append(positions - (config.get("pad_token_id", 1) + 1 if shifted else 0))
    # A tokenizer without a limit reports 1e30.
    known = [int(limit) for limit in limits if limit and limit < 1e9]
    return min(known, default=DEFAULT_LENGTH)


def _read(path: Path) -> dict[str, Any]:
    """The object in a JSON file; empty if there is no such file."""
    if not path.is_file():
        return {}
    try:
        content = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise ModelError(f"{path}: not valid JSON ({error})") from None
    return content if isinstance(content, dict) else {}
