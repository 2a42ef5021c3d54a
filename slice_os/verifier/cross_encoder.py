"""Cross-encoders: models that read a phrase and a hit in its sentence together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import orjson

from slice_os.arrays import FloatArray, IntArray
from slice_os.encoder.alignment import AlignedText, Aligner
from slice_os.encoder.engines import OnnxRuntimeEngine, pad
from slice_os.encoder.model_folder import (
    MODEL_FILE,
    TOKENIZER_FILE,
    check_fields,
    check_size,
    content_id,
    read_json,
)
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import InputError, ModelError
from slice_os.verifier.claims import Claim, Verdict

VERIFIER_FILE = "verifier.json"
_RANGES = {"max_length": (16, 512)}


@dataclass(frozen=True, slots=True)
class VerifierCard:
    """The card of a verifier folder, ``verifier.json``.

    Attributes:
        verifier_id: hash of the model and the tokenizer.
        name: for people.
        max_length: longest input in word pieces, special tokens included.
        precision: ``fp32`` or ``int8``.
        license: SPDX expression of the weights.
        provenance: origin of the weights, and how the file was made.
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

        Raises a `ModelError` if a field is missing, unknown, of another type or out of range.
        """
        check_fields(get_type_hints(cls), stored, _RANGES)
        return cls(**stored)

    def save(self, folder: Path) -> None:
        """Write the card into a folder, as indented JSON."""
        options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
        (folder / VERIFIER_FILE).write_bytes(orjson.dumps(self, option=options))


class ClaimInputs:
    """Builds the rows of ids that a cross-encoder reads: ``[CLS] phrase [SEP] sentence [SEP]``.

    The words of the hit have token type 1, everything else 0. A sentence that is too long loses
    what is farthest from the hit, a phrase or a hit that is too long its end. Rows have at most
    ``max_length`` ids, special tokens included.
    """

    def __init__(self, aligner: Aligner, max_length: int) -> None:
        self._aligner = aligner
        self._capacity = max_length - len(aligner.prefix) - 2 * len(aligner.suffix)

    def rows(self, claims: Sequence[Claim]) -> tuple[IntArray, IntArray]:
        """Ids and token types of claims, each ``(n_claims, longest)``, padded with 0."""
        ids, types = zip(*map(self.row, claims), strict=True)
        return pad(ids)[0], pad(types)[0]

    def row(self, claim: Claim) -> tuple[list[int], list[int]]:
        """Ids and token types of a claim."""
        phrase = self._aligner.align(claim.phrase).piece_ids.tolist()[: self._capacity // 2]
        aligned = self._aligner.align(claim.text)
        room = self._capacity - len(phrase)
        first, last = _pieces(aligned, claim.start, claim.end)
        last = min(last, first + room)
        spare = room - (last - first)
        n_pieces = len(aligned.piece_ids)
        left = min(first, max(spare // 2, spare - (n_pieces - last)))
        opens, closes = first - left, min(n_pieces, last + spare - left)
        suffix = self._aligner.suffix
        head = [*self._aligner.prefix, *phrase, *suffix]
        ids = [*head, *aligned.piece_ids[opens:closes].tolist(), *suffix]
        types = np.zeros(len(ids), dtype=np.int64)
        types[len(head) + first - opens : len(head) + last - opens] = 1
        return ids, types.tolist()


class CrossEncoderVerifier:
    """Estimates the probability that the words of a hit say its phrase; `card` describes it.

    Args:
        folder: with ``model.onnx``, ``tokenizer.json`` and the card, ``verifier.json``.
        providers: onnxruntime execution providers, first choice first; CPU if None.
        threads: CPU threads; all usable cores if None.

    Raises:
        ModelError: if the folder holds no verifier, or its files do not match its card.
        EngineError: if the provider does not load.
    """

    def __init__(
        self,
        folder: str | Path,
        *,
        providers: Sequence[str] | None = None,
        threads: int | None = None,
    ) -> None:
        self.folder = Path(folder)
        self.card = read_verifier_card(self.folder)
        if content_id(self.folder) != self.card.verifier_id:
            raise ModelError(f"{self.folder}: model or tokenizer changed since export")
        self._inputs = ClaimInputs(Aligner(self.folder / TOKENIZER_FILE), self.card.max_length)
        self._engine = OnnxRuntimeEngine(self.folder / MODEL_FILE, providers, threads)

    def check(self, claims: Sequence[Claim]) -> list[Verdict]:
        """A verdict for each claim; none depends on the others."""
        odds = np.clip(self.log_odds(claims).astype(np.float64), -50, 50)
        return [Verdict(probability) for probability in (1 / (1 + np.exp(-odds))).tolist()]

    def log_odds(self, claims: Sequence[Claim]) -> FloatArray:
        """``(n_claims,)`` log-odds that the claims hold."""
        with ThreadPoolExecutor(self._engine.workers, thread_name_prefix="verify") as executor:
            return np.array(list(executor.map(self._one, claims)), dtype=np.float32)

    def _one(self, claim: Claim) -> float:
        ids, types = self._inputs.rows([claim])
        result = self._engine.run(ids, np.ones_like(ids), types)
        if result.shape != (1, 1):
            raise ModelError(f"{self.folder}: returns {result.shape}, not (1, 1) log-odds")
        return float(result[0, 0])


def _pieces(aligned: AlignedText, start: int, end: int) -> tuple[int, int]:
    """The pieces of the words between two code points; all of them if there is no word."""
    words = aligned.words
    inside = np.flatnonzero((words[:, 1] > start) & (words[:, 0] < end))
    if not len(inside):
        return 0, len(aligned.piece_ids)
    return int(words[inside[0], 2]), int(words[inside[-1], 3])


def read_verifier_card(folder: Path) -> VerifierCard:
    """Read and check ``verifier.json``; ModelError if it or another file cannot be used."""
    path = folder / VERIFIER_FILE
    if not path.is_file():
        raise ModelError(f"no verifier at '{folder}': give a folder with {VERIFIER_FILE}")
    try:
        card = VerifierCard.from_fields(read_json(path))
    except ModelError as error:
        where = "" if str(error).startswith(str(folder)) else f"{path}: "
        raise ModelError(f"{where}{error}") from None
    for name in (MODEL_FILE, TOKENIZER_FILE):
        check_size(folder / name)
    return card


def open_cross_encoder(encoder: SpanEncoder, folder: str = "") -> CrossEncoderVerifier:
    """The cross-encoder of a folder, from text alone; without a folder, an InputError."""
    if not folder:
        raise InputError("verifier 'cross-encoder' needs a folder; write cross-encoder:FOLDER")
    return CrossEncoderVerifier(folder)
