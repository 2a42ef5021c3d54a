"""Verifier folders: ``model.onnx``, ``tokenizer.json`` and the card that describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, get_type_hints

import orjson

from slice_os.encoder.model_folder import BUNDLED, MODEL_FILE, TOKENIZER_FILE, check_size, read_json
from slice_os.errors import ModelError

VERIFIER_FILE = "verifier.json"
DEFAULT_VERIFIER = "slice-verify"
_SHORTEST, _LONGEST = 16, 512


@dataclass(frozen=True, slots=True)
class VerifierCard:
    """What an application needs to know about a verifier, as stored in ``verifier.json``.

    Attributes:
        verifier_id: hash of the model and the tokenizer.
        name: for people.
        max_length: longest input in word pieces, special tokens included.
        precision: ``fp32`` or ``int8``.
        license: SPDX expression of the weights.
        provenance: where the weights come from and how the file was made.
    """

    verifier_id: str
    name: str
    max_length: int
    precision: str
    license: str
    provenance: str

    @classmethod
    def from_fields(cls, stored: Mapping[str, Any]) -> VerifierCard:
        """Make a card from its stored fields.

        Raises:
            ModelError: if a field is missing, unknown, of another type or out of range.
        """
        expected = {field.name for field in fields(cls)}
        if stored.keys() != expected:
            missing, unknown = sorted(expected - stored.keys()), sorted(stored.keys() - expected)
            raise ModelError(f"missing fields {missing}, unknown fields {unknown}")
        for name, kind in get_type_hints(cls).items():
            if type(stored[name]) is not kind:
                raise ModelError(f"field {name!r} is {stored[name]!r:.50}, not {kind.__name__}")
        if not _SHORTEST <= stored["max_length"] <= _LONGEST:
            raise ModelError(
                f"max_length {stored['max_length']} is not between {_SHORTEST} and {_LONGEST}"
            )
        return cls(**stored)

    def save(self, folder: Path) -> None:
        """Write the card into a folder, as indented JSON."""
        options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        (folder / VERIFIER_FILE).write_bytes(orjson.dumps(asdict(self), option=options))


def verifier_folder(model: str | Path | None = None) -> Path:
    """The folder of a verifier: a path, the name of a bundled one, or None for the default one.

    Raises:
        ModelError: if there is none of that name or path.
    """
    wanted = DEFAULT_VERIFIER if model is None else model
    for folder in (Path(wanted), BUNDLED / str(wanted)):
        if (folder / VERIFIER_FILE).is_file():
            return folder
    raise ModelError(f"no verifier at {str(wanted)!r}: give a folder with {VERIFIER_FILE}")


def read_verifier_card(folder: Path) -> VerifierCard:
    """Read and check ``verifier.json``.

    Raises:
        ModelError: if a file is missing, or a value of the card cannot be.
    """
    path = folder / VERIFIER_FILE
    try:
        card = VerifierCard.from_fields(read_json(path))
    except ModelError as error:
        where = "" if str(error).startswith(str(folder)) else f"{path}: "
        raise ModelError(f"{where}{error}") from None
    for name in (MODEL_FILE, TOKENIZER_FILE):
        check_size(folder / name)
    return card
