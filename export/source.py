"""Sources: a Hugging Face encoder by name or folder, loaded and described."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson
from tokenizers import Tokenizer

from slice_os.errors import MissingExtraError, ModelError
from slice_os.model import projection_file

_SMALL_FILES = ("*.json", "*.txt", "*.model", "README.md")
_WEIGHTS = ("*.safetensors", "*.bin")
_DEFAULT_LENGTH = 512
_ORTHONORMAL = 1e-3


@dataclass(frozen=True, slots=True)
class Source:
    """A torch encoder and what its files say about it.

    Attributes:
        name: the Hugging Face name, or the folder's.
        model: a transformers model in evaluation mode, fp32, on CPU.
        tokenizer: its fast tokenizer, a ``tokenizers.Tokenizer`` without padding or truncation.
        max_length: longest input in word pieces, special tokens included.
        license: as the model's README declares it, or ``unknown``.
        weights: sha256 of the weights' bytes, first 16 hex digits.
        projection: axes that `slice-os train` found, ``(dimension, dimension)``, an axis a
            row; None if its folder has no ``axes.npy``.
    """

    name: str
    model: Any
    tokenizer: Tokenizer
    max_length: int
    license: str
    weights: str
    projection: npt.NDArray[np.float32] | None


def load_source(model: str) -> Source:
    """Load an encoder, from the folder of that name if there is one, else from Hugging Face.

    Folders of sentence-transformers are read at their transformer; the pooling and what else
    comes after it is left out.

    Raises:
        MissingExtraError: without torch or transformers.
        ModelError: if there is no such model, it is no encoder, or has no fast tokenizer.
    """
    try:
        import torch
        from transformers import AutoModel, AutoTokenizer
    except ImportError:
        raise MissingExtraError("Loading a Hugging Face encoder", "train") from None

    root = Path(model) if Path(model).exists() else _download(model)
    folder = _transformer_folder(root, model)
    try:
        network, loading = AutoModel.from_pretrained(
            folder, dtype=torch.float32, output_loading_info=True
        )
        tokenizer = AutoTokenizer.from_pretrained(folder)
    except Exception as error:  # the libraries raise many kinds
        raise ModelError(f"cannot load {model!r}: {one_line(error)}") from error
    lost = [key for key in loading["missing_keys"] if "pooler" not in key]
    if lost:
        raise ModelError(f"cannot load {model!r}: its weights lack {lost[0]} (of {len(lost)})")
    if network.config.is_encoder_decoder:
        raise ModelError(f"{model!r} is an encoder with a decoder; only encoders can be exported")
    if not tokenizer.is_fast:
        raise ModelError(f"{model!r} has no fast tokenizer (tokenizer.json), so no exact offsets")
    return Source(
        name=root.resolve().name if Path(model).exists() else model,
        model=network.eval(),
        tokenizer=_bare(tokenizer),
        max_length=_max_length(folder, network, tokenizer.model_max_length),
        license=_license(root),
        weights=_weights_hash(folder),
        projection=_projection(projection_file(folder), network.config.hidden_size),
    )


def one_line(error: Exception) -> str:
    """An error of another library, fit for a message of ours."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else f"{text[:200]}…"


def _download(name: str) -> Path:
    from huggingface_hub import snapshot_download

    try:
        for weights in _WEIGHTS:
            folder = Path(snapshot_download(name, allow_patterns=[*_SMALL_FILES, weights]))
            if list(folder.rglob(weights)):
                break
    except (OSError, ValueError) as error:
        raise ModelError(
            f"no folder {name!r}, and Hugging Face gives no model of that name ({one_line(error)})"
        ) from error
    return folder


def _transformer_folder(root: Path, model: str) -> Path:
    modules = _read_json(root / "modules.json")
    folder = root / modules[0]["path"] if modules else root
    if "model_type" not in (_read_json(folder / "config.json") or {}):
        raise ModelError(f"{model!r} is no Hugging Face model: no config.json with a model_type")
    return folder


def _read_json(path: Path) -> Any:
    """What a JSON file holds; None if there is none."""
    if not path.is_file():
        return None
    try:
        return orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise ModelError(f"{path}: not valid JSON ({error})") from None


def _bare(tokenizer: Any) -> Tokenizer:
    bare = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    bare.no_padding()
    bare.no_truncation()
    return bare


def _max_length(folder: Path, network: Any, tokenizer_limit: int) -> int:
    """The least of what sentence-transformers, the tokenizer and the positions allow."""
    limits = [tokenizer_limit]
    settings = _read_json(folder / "sentence_bert_config.json") or {}
    if length := settings.get("max_seq_length"):
        limits.append(length)
    if positions := getattr(network.config, "max_position_embeddings", None):
        # RoBERTa and its kin count positions from behind the padding's.
        reserved = [
            module.padding_idx + 1
            for name, module in network.named_modules()
            if name.endswith("position_embeddings")
            and getattr(module, "padding_idx", None) is not None
        ]
        limits.append(positions - max(reserved, default=0))
    # Tokenizers without a limit say 1e30.
    return min(limits) if min(limits) < 1e9 else _DEFAULT_LENGTH


def _projection(path: Path | None, dimension: int) -> npt.NDArray[np.float32] | None:
    if path is None:
        return None
    try:
        projection = np.load(path, allow_pickle=False)
        orthonormal = np.abs(projection @ projection.T - np.eye(dimension)).max() < _ORTHONORMAL
    except ValueError:
        orthonormal = False
    if not orthonormal:
        raise ModelError(f"{path}: not {dimension} orthonormal rows; delete it, or train again")
    return np.asarray(projection, dtype=np.float32)


def _license(root: Path) -> str:
    from huggingface_hub import metadata_load

    readme = root / "README.md"
    try:
        metadata = metadata_load(readme) if readme.is_file() else None
    except Exception:  # written by hand, in YAML or not
        metadata = None
    declared = (metadata or {}).get("license")
    return declared if isinstance(declared, str) else "unknown"


def _weights_hash(folder: Path) -> str:
    digest = hashlib.sha256()
    files = next(found for pattern in _WEIGHTS if (found := sorted(folder.glob(pattern))))
    for file in files:
        with file.open("rb") as stream:
            for block in iter(lambda: stream.read(1 << 20), b""):
                digest.update(block)
    return digest.hexdigest()[:16]
