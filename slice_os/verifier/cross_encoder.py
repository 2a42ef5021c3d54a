"""Cross-encoders: models that read a phrase and a hit in its sentence together."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import count
from math import ceil
from pathlib import Path
from queue import PriorityQueue
from typing import Annotated
from weakref import ref

import numpy as np

from slice_os.arrays import FloatArray, IntArray
from slice_os.encoder.alignment import AlignedText, Aligner
from slice_os.encoder.model_folder import (
    MODEL_FILE,
    TOKENIZER_FILE,
    check_size,
    checked,
    content_id,
    read_json,
)
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.encoder.token_model import OnnxRuntimeEngine, pad, plan_batches
from slice_os.errors import InputError, ModelError
from slice_os.records import Text, between
from slice_os.text.words import touched_words
from slice_os.threads import PACE, checkpoint
from slice_os.verifier.claims import Claim, Verdict, Verdicts
from slice_os.verifier.decision import probability_of

VERIFIER_FILE = "verifier.json"
AGAINST = {
    "negation": "denied",
    "roles": "other parties",
    "numbers": "another amount",
    "tense": "another time",
    "question": "asked or told",
    "modality": "another force",
    "antonym": "another fact",
}
"""Ways in which words speak against a claim, in the order of the outputs, and for people."""

# Folded, the scales of a product could not be fused with it; a layer norm fused with its sum adds
# up number by number.
_WITHOUT = ("ConstantFolding", "SkipLayerNormFusion")
_MOST_ODDS = 50.0
# Verdicts that are kept, since people say the same words again and again; not of long claims.
_REMEMBERED, _LONGEST_REMEMBERED = 10_000, 2_000
_PHRASES = 1_024
_LIKELY = 0.5
_WORD = re.compile(r"\w+(?:['’]\w+)*")
_CHECK_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class VerifierCard:
    """The card of a verifier folder, ``verifier.json``.

    Attributes:
        verifier_id: hash of the model and the tokenizer.
        name: for people.
        max_length: longest input in word pieces, special tokens included.
        batch_pieces: most word pieces, padding included, of claims that are read together; with 1,
            each claim is read alone.
        precision: ``fp32`` or ``int8``.
        license: SPDX expression of the weights.
        provenance: origin of the weights, and how the file was made.
    """

    verifier_id: Text
    name: Text
    max_length: Annotated[int, between(16, 512)]
    batch_pieces: Annotated[int, between(1, 16_384)]
    precision: Text
    license: Text
    provenance: Text


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """The input of a cross-encoder for a claim, ``n`` word pieces.

    Attributes:
        ids, types: ``n`` word-piece ids and token types.
        places: ``(n, 2)`` code points in the claim's text of the word of each piece; two zeros for
            a piece of the phrase or of the sentence before, and for special tokens.
    """

    ids: list[int]
    types: list[int]
    places: IntArray


class ClaimInputs:
    """Builds the rows of ids that a cross-encoder reads: ``[CLS] phrase [SEP] sentence [SEP]``.

    The words of the hit have token type 1, everything else 0. A sentence that is too long loses
    what is farthest from the hit, a phrase or a hit that is too long its end. Rows have at most
    ``max_length`` ids, special tokens included.
    """

    def __init__(self, aligner: Aligner, max_length: int) -> None:
        self._aligner = aligner
        self._capacity = max_length - len(aligner.prefix) - 2 * len(aligner.suffix)
        self._phrase = lru_cache(_PHRASES)(self._phrase_ids)

    def row(self, claim: Claim) -> ClaimRow:
        """The input for a claim."""
        phrase = self._phrase(claim.phrase)
        before = f"{claim.before} " if claim.before else ""
        aligned, shift = self._aligner.align(before + claim.text), len(before)
        room = self._capacity - len(phrase)
        first, last = _pieces(aligned, claim.start + shift, claim.end + shift)
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
        places = np.zeros((len(ids), 2), dtype=np.int64)
        for start, end, begin, stop in aligned.words.tolist():
            low, high = max(begin, opens), min(stop, closes)
            if low < high and start >= shift:
                places[len(head) + low - opens : len(head) + high - opens] = start, end
        places[places[:, 1] > 0] -= shift
        return ClaimRow(ids, types.tolist(), places)

    def _phrase_ids(self, phrase: str) -> list[int]:
        ids: list[int] = self._aligner.align(phrase).piece_ids.tolist()
        return ids[: self._capacity // 2]


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
        self._engine = OnnxRuntimeEngine(self.folder / MODEL_FILE, providers, threads, _WITHOUT)
        self._threads = ThreadPoolExecutor(self._engine.workers, thread_name_prefix="verify")
        # Of what waits to be read, the claims of whoever has few go first, before at most so many
        # batches as the others have claims.
        self._waiting: PriorityQueue[tuple[int, int, ref[Future[None]], Callable[[], None]]] = (
            PriorityQueue()
        )
        self._numbers = count()
        # A verdict, or none yet, for each claim; claims that are asked for in parallel share one.
        self._remembered = lru_cache(_REMEMBERED)(_nothing)

    def check(self, claims: Sequence[Claim]) -> list[Verdict]:
        """A verdict for each claim; none depends on the others. Equal ones are read once."""
        return list(self.begin(claims)())

    def begin(self, claims: Sequence[Claim]) -> Verdicts:
        """As `check`, but returns at once; call the result for the verdicts.

        There are checkpoints while these are waited for. Claims whose verdicts nobody can call for
        any more are not read; the others are at the pace of who begins.
        """
        pace = PACE.get()
        plain = [claim.words for claim in claims]
        known = {claim: self._kept(claim) for claim in dict.fromkeys(plain)}
        unread = [claim for claim, verdicts in known.items() if not verdicts]
        rows = list(map(self._inputs.row, unread))
        lengths = [len(row.ids) for row in rows]
        # Fewer than the card allows, if only so every thread has some.
        share = sum(lengths) * ceil(len(rows) / self._engine.workers) // max(1, len(rows))
        batches = plan_batches(lengths, min(self.card.batch_pieces, share))

        def read(batch: list[int]) -> None:
            pace()
            outputs = self._run([rows[i] for i in batch])
            for i, output in zip(batch, outputs, strict=True):
                known[unread[i]].append(_verdict(unread[i], rows[i], output))

        reading = [self._soon(len(unread), partial(read, batch)) for batch in batches]

        def verdicts() -> list[Verdict]:
            for one in reading:
                while wait([one], _CHECK_SECONDS).not_done:
                    checkpoint()
                one.result()
            return [known[claim][0] for claim in plain]

        return verdicts

    def _kept(self, claim: Claim) -> list[Verdict]:
        """The verdict on a claim, or none yet."""
        short = len(claim.phrase) + len(claim.text) + len(claim.before) <= _LONGEST_REMEMBERED
        return self._remembered(claim) if short else _nothing(claim)

    def _soon(self, urgency: int, read: Callable[[], None]) -> Future[None]:
        """Let a thread read, as soon as nothing of a lower number waits, while the future lives."""
        ended: Future[None] = Future()
        number = next(self._numbers)
        self._waiting.put((number + urgency, number, ref(ended), read))
        self._threads.submit(self._read_next)
        return ended

    def _read_next(self) -> None:
        *_, waited_for, read = self._waiting.get_nowait()
        if (ended := waited_for()) is None:
            return
        try:
            ended.set_result(read())
        except BaseException as error:
            ended.set_exception(error)

    def _run(self, rows: Sequence[ClaimRow]) -> list[FloatArray]:
        """The outputs for the pieces of each row, ``(n, 2 + len(AGAINST))``."""
        ids, mask = pad([row.ids for row in rows])
        types, _ = pad([row.types for row in rows])
        outputs = self._engine.run(ids, mask, types)
        shape = (*ids.shape, 2 + len(AGAINST))
        if outputs.shape != shape:
            raise ModelError(f"{self.folder}: returns {outputs.shape}, not {shape}")
        return [output[: len(row.ids)] for row, output in zip(rows, outputs, strict=True)]


def _nothing(claim: Claim) -> list[Verdict]:
    return []


def _verdict(claim: Claim, row: ClaimRow, output: FloatArray) -> Verdict:
    probability = probability_of(max(-_MOST_ODDS, min(_MOST_ODDS, float(output[0, 0]))))
    if probability >= _LIKELY:
        return Verdict(probability)
    return Verdict(probability, _reasons(claim.text, row.places, output[:, 1:]))


def _reasons(text: str, places: IntArray, scores: FloatArray) -> tuple[str, ...]:
    """The words of a text that speak most against a claim, and how; none if no word does.

    Of each piece there are its place, as in `ClaimRow`, and scores that it does not speak against
    the claim, or in which way of `AGAINST` it does. Words beside the one that does so most are
    named with it if they do, too.
    """
    beyond = scores[:, 1:] - scores[:, :1]
    beyond[places[:, 1] == 0] = -_MOST_ODDS
    piece, kind = np.unravel_index(int(beyond.argmax()), beyond.shape)
    if beyond[piece, kind] <= 0:
        return ()
    silent = np.flatnonzero(beyond[:, kind] <= 0)
    at = int(np.searchsorted(silent, piece))
    run = places[silent[at - 1] + 1 if at else 0 : silent[at] if at < len(silent) else None]
    start, end = int(run[0, 0]), int(run[-1, 1])
    words = [word for word in _WORD.finditer(text) if word.end() > start and word.start() < end]
    found = text[words[0].start() : words[-1].end()] if words else text[start:end]
    return (f"{AGAINST[tuple(AGAINST)[kind]]}: {found}",)


def _pieces(aligned: AlignedText, start: int, end: int) -> tuple[int, int]:
    """The pieces of the words between two code points; all of them if there is no word."""
    first, last = touched_words(aligned.words, start, end)
    if first == last:
        return 0, len(aligned.piece_ids)
    return int(aligned.words[first, 2]), int(aligned.words[last - 1, 3])


def read_verifier_card(folder: Path) -> VerifierCard:
    """Read and check ``verifier.json``; ModelError if it or another file cannot be used."""
    path = folder / VERIFIER_FILE
    if not path.is_file():
        raise ModelError(f"no verifier at '{folder}': give a folder with {VERIFIER_FILE}")
    try:
        card = checked(VerifierCard, read_json(path))
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
