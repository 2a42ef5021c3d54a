"""Model folders: ``model.onnx``, ``tokenizer.json`` and the card that describes them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, get_type_hints

import orjson

from slice_os.errors import EncoderMismatchError, ModelError, StoreError

CARD_FILE = "model.json"
MODEL_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"
PROJECTION_FILE = "projection.npy"
_FORMER_PROJECTION_FILE = "axes.npy"
BUNDLED = Path(__file__).parent / "models"
DEFAULT_MODEL = "slice-mini"
_RENAMED = {"licence": "license"}


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What an application needs to know about a model, as stored in ``model.json``.

    Attributes:
        encoder_id: hash of the bytes of model and tokenizer; one store never mixes vectors of
            encoders with different ids.
        name: for people.
        dimension: length of a token vector.
        max_length: longest input in word pieces, special tokens included.
        pooling: how a span's vector is made from its token vectors; always ``mean``.
        min_words: shortest span to score, in words.
        max_words: longest span to score, in words.
        precision: ``fp32``, ``fp16`` or ``int8``.
        license: SPDX expression of the weights.
        provenance: where the weights come from and how the file was made.
        threshold: the cosine from which a span counts as a hit by default.
    """

    encoder_id: str
    name: str
    dimension: int
    max_length: int
    pooling: str
    min_words: int
    max_words: int
    precision: str
    license: str
    provenance: str
    threshold: float

    @classmethod
    def from_fields(cls, stored: Mapping[str, Any]) -> ModelCard:
        """Make a card from its stored fields, also under their former names."""
        return cls(**_current(stored))

    def to_json(self) -> bytes:
        """The card as indented JSON."""
        return orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)

    def check_made(self, location: str | Path, encoder: ModelCard) -> None:
        """Check that an encoder is the one of this card, which made the vectors of a store.

        Raises:
            EncoderMismatchError: if it is another one; the message names both.
        """
        if encoder.encoder_id != self.encoder_id:
            raise EncoderMismatchError(
                f"{location}: its vectors were made by {self.name} {self.precision} "
                f"({self.encoder_id}), not by {encoder.name} {encoder.precision} "
                f"({encoder.encoder_id}); use that model, or ingest into a new store"
            )


def content_id(folder: Path) -> str:
    """The encoder id of a model folder: sha256 of model and tokenizer, first 16 hex digits."""
    digest = hashlib.sha256()
    for name in (MODEL_FILE, TOKENIZER_FILE):
        with (folder / name).open("rb") as stream:
            for block in iter(lambda: stream.read(1 << 20), b""):
                digest.update(block)
    return digest.hexdigest()[:16]


def projection_file(folder: Path) -> Path | None:
    """The file of a folder's projection, also under its former name; None if there is none."""
    paths = (folder / PROJECTION_FILE, folder / _FORMER_PROJECTION_FILE)
    return next((path for path in paths if path.is_file()), None)


def model_folder(model: str | Path | None = None) -> Path:
    """The folder of a model: a path, the name of a bundled model, or None for the default one.

    Raises:
        ModelError: if there is no model of that name or path.
    """
    if model is None:
        return BUNDLED / DEFAULT_MODEL
    for folder in (Path(model), BUNDLED / str(model)):
        if (folder / CARD_FILE).is_file():
            return folder
    bundled = ", ".join(sorted(path.name for path in BUNDLED.iterdir() if path.is_dir()))
    raise ModelError(
        f"no model at {str(model)!r}: give a folder with {CARD_FILE} "
        f"(made by `slice-os export MODEL OUT`) or a bundled name ({bundled})"
    )


def read_card(folder: Path) -> ModelCard:
    """Read and check ``model.json``.

    Raises:
        ModelError: if a file is missing, a field is unknown, missing or of the wrong type, or
            pooling is not ``mean``.
    """
    path = folder / CARD_FILE
    try:
        raw: Any = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        raise ModelError(f"{path}: not found; is {folder} a model folder?") from None
    except orjson.JSONDecodeError as error:
        raise ModelError(f"{path}: not valid JSON ({error})") from None
    if isinstance(raw, dict):
        raw = _current(raw)
    expected = {field.name for field in fields(ModelCard)}
    if not isinstance(raw, dict) or set(raw) != expected:
        found = set(raw) if isinstance(raw, dict) else set()
        missing, unknown = sorted(expected - found), sorted(found - expected)
        raise ModelError(
            f"{path}: missing fields {missing}, unknown fields {unknown}; export again"
        )
    for name, kind in get_type_hints(ModelCard).items():
        if not isinstance(raw[name], (int, float) if kind is float else kind):
            raise ModelError(f"{path}: field {name!r} is {raw[name]!r}, not {kind.__name__}")
    if raw["pooling"] != "mean":
        raise ModelError(f"{path}: pooling {raw['pooling']!r} is not supported; only 'mean' is")
    for name in (MODEL_FILE, TOKENIZER_FILE):
        if not (folder / name).is_file():
            raise ModelError(f"{folder / name}: not found; export the model again")
    return ModelCard(**raw)


def _current(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Stored fields of a card under their current names."""
    return {_RENAMED.get(name, name): value for name, value in stored.items()}


def bundled_model(card: ModelCard, location: str) -> Path:
    """The folder of the bundled model that made a store.

    Raises:
        StoreError: if another model made it.
    """
    for folder in sorted(BUNDLED.iterdir()):
        if folder.is_dir() and read_card(folder).encoder_id == card.encoder_id:
            return folder
    raise StoreError(
        f"{location}: made with {card.name} ({card.encoder_id}), which is not bundled; "
        "name its folder as the model"
    )
