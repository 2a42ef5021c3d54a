"""Hugging Face models by name or folder: found, downloaded, loaded and described."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from tokenizers import Tokenizer

from slice_os.encoder.model_folder import files_hash
from slice_os.errors import ModelError, imported

_SMALL_FILES = ("*.json", "*.txt", "*.model", "README.md")
_WEIGHTS = ("*.safetensors", "*.bin")
_DEFAULT_LENGTH = 512


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A torch encoder, with the facts in its files.

    Attributes:
        name: the Hugging Face name, or the folder's.
        folder: of the files of its transformer.
        network: a transformers model in evaluation mode, fp32, on CPU.
        tokenizer: its fast transformers tokenizer.
        max_length: longest input in word pieces, special tokens included.
        license: as the model's README declares it, or ``unknown``.
    """

    name: str
    folder: Path
    network: Any
    tokenizer: Any
    max_length: int
    license: str

    @property
    def dimension(self) -> int:
        """Length of a token vector."""
        return int(self.network.config.hidden_size)

    def plain_tokenizer(self) -> Tokenizer:
        """A copy of the tokenizer that neither pads nor truncates."""
        plain = Tokenizer.from_str(self.tokenizer.backend_tokenizer.to_str())
        plain.no_padding()
        plain.no_truncation()
        return plain

    def weights_hash(self) -> str:
        """The SHA-256 of the weights' bytes, first 16 hex digits."""
        files = next(found for kind in _WEIGHTS if (found := sorted(self.folder.glob(kind))))
        return files_hash(*files)[:16]


def load_encoder(model: str) -> LoadedModel:
    """Load an encoder from the folder of that name if there is one, else from Hugging Face.

    In a folder of sentence-transformers only the transformer is loaded, not the pooling and
    other layers after it.

    Raises a `MissingExtraError` without torch or transformers, and a `ModelError` if there is no
    such model, it is no encoder, or it has no fast tokenizer.
    """
    torch = imported("torch", "Loading a Hugging Face encoder", "train")
    transformers = imported("transformers", "Loading a Hugging Face encoder", "train")
    root = find_folder(model)
    folder = _transformer_folder(root, model)
    try:
        network, loading = transformers.AutoModel.from_pretrained(
            folder, dtype=torch.float32, local_files_only=True, output_loading_info=True
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except Exception as error:  # the libraries raise many kinds
        raise ModelError(f"cannot load {model!r}: {one_line(error)}") from error
    missing = [key for key in loading["missing_keys"] if "pooler" not in key]
    if missing:
        raise ModelError(
            f"cannot load {model!r}: its weights lack {missing[0]} (of {len(missing)})"
        )
    if network.config.is_encoder_decoder:
        raise ModelError(f"{model!r} has a decoder; only models that are encoders alone will do")
    if not tokenizer.is_fast:
        raise ModelError(f"{model!r} has no fast tokenizer (tokenizer.json), so no exact offsets")
    return LoadedModel(
        name=root.resolve().name if Path(model).exists() else model,
        folder=folder,
        network=network.eval(),
        tokenizer=tokenizer,
        max_length=_max_length(folder, network, tokenizer.model_max_length),
        license=_license(root),
    )


def find_folder(model: str) -> Path:
    """The folder of that name if there is one, else a model downloaded from Hugging Face.

    A model that was downloaded before is found without a network.

    Raises a `ModelError` if there is no such model, or Hugging Face cannot be reached.
    """
    if Path(model).exists():
        return Path(model)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        for weights in _WEIGHTS:
            folder = Path(snapshot_download(model, allow_patterns=[*_SMALL_FILES, weights]))
            if list(folder.rglob(weights)):
                break
    except LocalEntryNotFoundError as error:
        raise ModelError(
            f"no folder {model!r}, and Hugging Face cannot be reached; give a folder, "
            "or connect to the network once to download the model"
        ) from error
    except HFValidationError as error:
        raise ModelError(
            f"no folder {model!r}, and no Hugging Face name such as ORGANISATION/MODEL"
        ) from error
    except (OSError, ValueError) as error:
        raise ModelError(
            f"no folder {model!r}, and Hugging Face gives no model of that name ({one_line(error)})"
        ) from error
    return folder


def one_line(error: Exception) -> str:
    """The message of another library's error, shortened to one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else f"{text[:200]}…"


def _transformer_folder(root: Path, model: str) -> Path:
    path = root / "modules.json"
    try:
        folder = root / modules[0]["path"] if (modules := read_json(path)) else root
    except (LookupError, TypeError):
        raise ModelError(f"{path}: no list of modules, each with its path") from None
    if "model_type" not in (read_json(folder / "config.json") or {}):
        raise ModelError(f"{model!r} is no Hugging Face model: no config.json with a model_type")
    return folder


def read_json(path: Path) -> Any:
    """The content of a JSON file, if there is one."""
    try:
        return orjson.loads(path.read_bytes()) if path.is_file() else None
    except orjson.JSONDecodeError as error:
        raise ModelError(f"{path}: not valid JSON ({error})") from None


def _max_length(folder: Path, network: Any, tokenizer_limit: int) -> int:
    """The lowest limit of sentence-transformers, the tokenizer and the positions."""
    limits = [tokenizer_limit]
    settings = read_json(folder / "sentence_bert_config.json") or {}
    if length := settings.get("max_seq_length"):
        limits.append(length)
    if positions := getattr(network.config, "max_position_embeddings", None):
        # RoBERTa and its relatives count positions from behind the padding's.
        reserved = [
            module.padding_idx + 1
            for name, module in network.named_modules()
            if name.endswith("position_embeddings")
            and getattr(module, "padding_idx", None) is not None
        ]
        limits.append(positions - max(reserved, default=0))
    # A tokenizer without a limit reports 1e30.
    return min(limits) if min(limits) < 1e9 else _DEFAULT_LENGTH


def _license(root: Path) -> str:
    from huggingface_hub import metadata_load

    readme = root / "README.md"
    try:
        metadata = metadata_load(readme) if readme.is_file() else None
    except Exception:  # people write it, not always as YAML
        metadata = None
    declared = (metadata or {}).get("license")
    return declared if isinstance(declared, str) else "unknown"
