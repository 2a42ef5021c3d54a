"""Verifier folders: ``model.onnx``, ``tokenizer.json`` and the card that describes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from math import isfinite
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import orjson

from slice_os.errors import ModelError
from slice_os.model import BUNDLED, MODEL_FILE, TOKENIZER_FILE, check_size, read_json

VERIFIER_FILE = "verifier.json"
DEFAULT_VERIFIER = "slice-verify"
_LONGEST = 512
_LARGEST_WEIGHT = 1e6


@dataclass(frozen=True, slots=True)
class VerifierCard:
    """What an application needs to know about a verifier, as stored in ``verifier.json``.

    Its last fields are the weights of a logistic map from the model's log-odds, and those of the
    probability that the cosine gives, to the probability of a hit.

    Attributes:
        verifier_id: hash of the model and the tokenizer.
        name: for people.
        max_length: longest input in word pieces, special tokens included.
        precision: ``fp32`` or ``int8``.
        license: SPDX expression of the weights.
        provenance: where the weights come from and how the file was made.
        encoder_id: the encoder whose hits the weights were fitted to.
        intercept: constant, where there is a prior.
        odds: weight of the model's log-odds, where there is a prior; 0 or more.
        prior: weight of the log-odds of the prior; 0 or more.
        alone_intercept: constant, without a prior.
        alone_odds: weight of the model's log-odds, without a prior; 0 or more.
        hits: number of labelled hits that the weights were fitted to.
        fitted_on: what these hits were, for people.
    """

    verifier_id: str
    name: str
    max_length: int
    precision: str
    license: str
    provenance: str
    encoder_id: str
    intercept: float
    odds: float
    prior: float
    alone_intercept: float
    alone_odds: float
    hits: int
    fitted_on: str

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
            value = stored[name]
            kinds = (int, float) if kind is float else kind
            if not isinstance(value, kinds) or isinstance(value, bool):
                raise ModelError(f"field {name!r} is {value!r:.50}, not {kind.__name__}")
            if kind is float and not (isfinite(value) and abs(value) <= _LARGEST_WEIGHT):
                raise ModelError(f"field {name!r} is {value}, which is out of range")
        for name in ("odds", "prior", "alone_odds", "hits"):
            if stored[name] < 0:
                raise ModelError(f"field {name!r} is negative")
        if not 16 <= stored["max_length"] <= _LONGEST:
            raise ModelError(f"max_length {stored['max_length']} is not between 16 and {_LONGEST}")
        return cls(**stored)

    def probability(self, log_odds: float, prior: float | None) -> float:
        """The probability that a hit says its phrase.

        Args:
            log_odds: what the model says.
            prior: the probability that the cosine gives; None if there is none.
        """
        if prior is None:
            total = self.alone_intercept + self.alone_odds * log_odds
        else:
            total = self.intercept + self.odds * log_odds + self.prior * logit(prior)
        return float(1 / (1 + np.exp(-np.clip(total, -50, 50))))

    def save(self, folder: Path) -> None:
        """Write the card into a folder, as indented JSON."""
        options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        (folder / VERIFIER_FILE).write_bytes(orjson.dumps(asdict(self), option=options))


def logit(probability: float) -> float:
    """The log-odds of a probability, which is kept a little away from 0 and 1."""
    kept = min(max(probability, 1e-6), 1 - 1e-6)
    return float(np.log(kept / (1 - kept)))


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
