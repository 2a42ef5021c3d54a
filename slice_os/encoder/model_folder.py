"""Model folders: ``model.onnx``, ``tokenizer.json`` and the card that describes them."""

from __future__ import annotations

import hashlib
import mmap
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

import orjson

from slice_os.errors import EncoderMismatchError, InputError, ModelError, StoreError
from slice_os.records import Text, between, record

T = TypeVar("T")

CARD_FILE = "model.json"
MODEL_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"
PROJECTION_FILE = "projection.npy"
CALIBRATION_FILE = "calibration.json"
BUNDLED = Path(__file__).parents[1] / "models"
DEFAULT_MODEL = "slice-mini"
# The field of ``model.json`` with the hashes of files that token vectors do not depend on.
HASHES = "hashes"
_INDENTED = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
# The largest tokenizers of multilingual models have 35 MB.
_LARGEST = {CARD_FILE: 1 << 20, TOKENIZER_FILE: 128 << 20, CALIBRATION_FILE: 1 << 20}
# A key and its value, as ONNX files name those in which tensors are.
_EXTERNAL = re.compile(rb"\x0a\x08location\x12([\x01-\x7f])", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ModelCard:
    """Description of a model, as stored in ``model.json``.

    Attributes:
        encoder_id: hash of the bytes of the model, with the files that hold its tensors, and of
            the tokenizer; one store never mixes vectors of encoders with different ids.
        name: for people.
        dimension: length of a token vector.
        max_length: longest input in word pieces, special tokens included.
        pooling: of token vectors to a span's vector; always ``mean``.
        min_words: shortest span to score, in words.
        max_words: longest span to score, in words.
        precision: ``fp32``, ``fp16`` or ``int8``.
        license: SPDX expression of the weights.
        provenance: origin of the weights, and the making of the file.
        threshold: least cosine of a hit by default.
    """

    encoder_id: Text
    name: Text
    dimension: Annotated[int, between(1, 16_384)]
    max_length: Annotated[int, between(8, 131_072)]
    pooling: Text
    min_words: Annotated[int, between(1, 512)]
    max_words: Annotated[int, between(1, 512)]
    precision: Text
    license: Text
    provenance: Text
    threshold: Annotated[float, between(-1, 1)]

    @classmethod
    def from_fields(cls, stored: Mapping[str, Any]) -> ModelCard:
        """Make a card; raise a ModelError if a field is missing, unknown, or has a wrong value."""
        card = checked(cls, stored)
        if card.min_words > card.max_words:
            raise ModelError("min_words is above max_words; export again")
        if card.pooling != "mean":
            raise ModelError(f"pooling {card.pooling!r} is not supported; only 'mean' is")
        return card

    def to_json(self) -> bytes:
        """The card as indented JSON."""
        return orjson.dumps(self, option=_INDENTED)

    def check_made(self, location: str | Path, encoder: ModelCard) -> None:
        """Raise an EncoderMismatchError if an encoder is not this one, which made a store."""
        if encoder.encoder_id != self.encoder_id:
            raise EncoderMismatchError(
                f"{location}: its vectors were made by {self.name} {self.precision} "
                f"({self.encoder_id}), not by {encoder.name} {encoder.precision} "
                f"({encoder.encoder_id}); use that model, or ingest into a new store"
            )


def content_id(folder: Path) -> str:
    """The encoder id of a model folder: sha256 of its files, first 16 hex digits.

    These are the model, the files beside it that hold its tensors, if any, and the tokenizer.

    Raises a `ModelError` if the model names files in other folders.
    """
    names = MODEL_FILE, TOKENIZER_FILE, *_external_files(folder)
    return files_hash(*(folder / name for name in names))[:16]


def files_hash(*paths: Path) -> str:
    """The SHA-256 of the bytes of some files, one after the other."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def seal(folder: Path) -> None:
    """Note the hash of the projection in ``model.json``, as it is now."""
    path = folder / CARD_FILE
    card = orjson.loads(path.read_bytes())
    card[HASHES] = _hashes(folder)
    path.write_bytes(orjson.dumps(card, option=_INDENTED))


def check_hashes(folder: Path) -> None:
    """Raise a ModelError if ``model.json`` names a projection, and it is another or missing."""
    noted = read_json(folder / CARD_FILE).get(HASHES, {})
    if not isinstance(noted, dict):
        raise ModelError(f"{folder / CARD_FILE}: {HASHES} is {noted!r:.50}, not an object")
    found = _hashes(folder)
    for name, digest in noted.items():
        if found.get(name) != digest:
            raise ModelError(
                f"{folder / name}: is not the file that {CARD_FILE} was made with; export the "
                "model again"
            )


def model_folder(model: str | Path | None = None) -> Path:
    """The folder of a model: a path, the name of a bundled model, or None for the default one.

    Raises a `ModelError` if there is no model of that name or path.
    """
    if model is None:
        return BUNDLED / DEFAULT_MODEL
    for folder in (Path(model), BUNDLED / str(model)):
        if (folder / CARD_FILE).is_file():
            return folder
    bundled = ", ".join(path.name for path in _bundled())
    raise ModelError(
        f"no model at {str(model)!r}: give a folder with {CARD_FILE} "
        f"(made by `slice-os model export MODEL OUT`) or a bundled name ({bundled})"
    )


def read_card(folder: Path) -> ModelCard:
    """Read and check ``model.json``; raise a ModelError if it or another file cannot be used."""
    path = folder / CARD_FILE
    raw = read_json(path)
    raw.pop(HASHES, None)
    try:
        card = ModelCard.from_fields(raw)
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
    for name in (MODEL_FILE, TOKENIZER_FILE):
        check_size(folder / name)
    return card


def check_size(path: Path) -> None:
    """Raise a ModelError on a file that is missing, or too large to be what its name says."""
    if not path.is_file():
        raise ModelError(f"{path}: not found; export the model again")
    limit = _LARGEST.get(path.name)
    if limit is not None and path.stat().st_size > limit:
        raise ModelError(f"{path}: larger than {limit >> 20} MB; export the model again")


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file of a model folder, or a ModelError if it holds something else."""
    if not path.is_file():
        raise ModelError(f"{path}: not found; is {path.parent} a model folder?")
    check_size(path)
    try:
        raw: Any = orjson.loads(path.read_bytes())
    except (orjson.JSONDecodeError, OSError) as error:
        raise ModelError(f"{path}: not valid JSON ({error})") from None
    if not isinstance(raw, dict):
        raise ModelError(f"{path}: not an object; export the model again")
    return raw


def checked(kind: type[T], stored: Mapping[str, Any]) -> T:
    """A dataclass of stored fields; ModelError on a missing, unknown or wrong one."""
    try:
        return record(kind, stored)
    except InputError as error:
        raise ModelError(f"{error}, or export again") from None


def _external_files(folder: Path) -> Iterator[str]:
    """Names of the files beside a model in which its tensors are, sorted."""
    path = folder / MODEL_FILE
    names = set()
    with path.open("rb") as stream:
        if not path.stat().st_size:
            return
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            for found in _EXTERNAL.finditer(content):
                raw = content[found.end() : found.end() + found[1][0]]
                names.add(raw.decode("utf-8", "replace"))
    for name in sorted(names):
        file = folder / name
        if Path(name).name != name or not file.is_file() or file.is_symlink():
            raise ModelError(
                f"{path}: its tensors are in {name!r}, which is no file beside it; export again"
            )
        yield name


def _hashes(folder: Path) -> dict[str, str]:
    path = folder / PROJECTION_FILE
    return {PROJECTION_FILE: files_hash(path)} if path.is_file() else {}


def made_by(card: ModelCard, location: str, model: str | None = None) -> Path:
    """The folder of the model that made a store: the given one, or a bundled one.

    Raises a StoreError if another model did.
    """
    given = [] if model is None else [model_folder(model)]
    for folder in (*given, *_bundled()):
        if read_card(folder).encoder_id == card.encoder_id:
            return folder
    raise StoreError(
        f"{location}: made with {card.name} ({card.encoder_id}), which is not bundled; "
        "name its folder as the model"
    )


@cache
def bundled_ids() -> frozenset[str]:
    """The ids of the encoders of this package, which read English."""
    return frozenset(read_card(folder).encoder_id for folder in _bundled())


def _bundled() -> list[Path]:
    return sorted(path.parent for path in BUNDLED.glob(f"*/{CARD_FILE}"))
