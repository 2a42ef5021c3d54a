"""Training a verifier: its recipe, batches of claims, and the steps.

The loss is cross-entropy on claims, and a ranking of the claims of each phrase.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import orjson

from slice_os.arrays import IntArray
from slice_os.encoder.alignment import Aligner
from slice_os.encoder.engines import pad
from slice_os.encoder.hugging_face import load_encoder
from slice_os.errors import InputError
from slice_os.training.backend import torch
from slice_os.training.contrasts.contrast_rows import ContrastRow
from slice_os.training.progress import Report, Tick, silent
from slice_os.training.settings import (
    Count,
    Natural,
    NotNegative,
    Positive,
    Settings,
    at_least,
    read_settings,
)
from slice_os.verifier.claims import claim_in
from slice_os.verifier.cross_encoder import ClaimInputs

LOG_FILE = "log.jsonl"
CHECKPOINT = "checkpoint"
_WORDS = "embeddings.word_embeddings"
# Groups are shuffled, then sorted by length within so many, then their batches are shuffled.
_POOL = 400
# More claims of one phrase make several groups.
_MOST = 12


@dataclass(frozen=True, slots=True)
class VerifierRecipe(Settings):
    """A recipe, every value checked.

    Attributes:
        model: Hugging Face name, or folder, of the encoder to start from.
        license: SPDX expression of the result.
        minutes: the learning rate falls with the time, too, and the run ends after so many minutes;
            0 for no limit. With a limit, two runs differ.
        singles: share of the phrases with a single contrast that are used.
        batch_pieces: word pieces of a batch, padding included.
        max_length: longest input in word pieces.
        learning_rate: at its highest; it rises for ``warmup`` steps and falls to 0 at the end.
        warmup: steps of rising.
        head_rate: how many times as fast the new last layer learns.
        clip: largest norm of the gradient.
        pairwise: weight of the loss that puts spans that say a phrase above those that do not;
            beside it, cross-entropy has weight 1.
        bf16: compute in bfloat16 where the CPU or GPU can.
        save_every: steps between checkpoints; 0 for none.
    """

    name: str
    model: str
    license: str
    steps: Count
    minutes: NotNegative = 0.0
    singles: NotNegative = 1.0
    batch_pieces: Count = 2_048
    max_length: Annotated[int, at_least(16)] = 96
    learning_rate: Positive = 5e-5
    warmup: Natural = 20
    head_rate: Positive = 10.0
    weight_decay: NotNegative = 0.01
    clip: Positive = 1.0
    pairwise: NotNegative = 1.0
    bf16: bool = False
    seed: int = 0
    save_every: Natural = 50

    def rate(self, step: int, seconds: float) -> float:
        """The learning rate of a step, counted from 0, so long after the start; 0 at the end."""
        rise = (step + 1) / max(self.warmup, 1)
        fall = (self.steps - step) / max(self.steps - self.warmup, 1)
        left = 1 - seconds / (60 * self.minutes) if self.minutes else 1.0
        return self.learning_rate * max(0.0, min(rise, fall, left))


def read_recipe(path: Path) -> VerifierRecipe:
    """Read and check a recipe; `InputError` if it is missing, not TOML, or a value cannot be."""
    return read_settings(VerifierRecipe, path)


@dataclass(frozen=True, slots=True)
class ClaimBatch:
    """Rows for a forward pass.

    Attributes:
        ids, mask: ``(n, length)`` word-piece ids, padded with 0, and 1 for a piece.
        types: ``(n, length)`` 1 for the words of the hit.
        says: ``(n,)`` 1 if the claim holds, else 0.
        phrases: ``(n,)`` equal numbers for claims of one phrase.
    """

    ids: IntArray
    mask: IntArray
    types: IntArray
    says: npt.NDArray[np.float32]
    phrases: IntArray


@dataclass(frozen=True, slots=True)
class _Row:
    ids: list[int]
    types: list[int]
    says: bool


class ClaimBatches:
    """Contrasts as batches, epoch by epoch, without end."""

    def __init__(
        self, contrasts: Iterable[ContrastRow], inputs: ClaimInputs, recipe: VerifierRecipe
    ) -> None:
        self._inputs = inputs
        self._batch_pieces = recipe.batch_pieces
        self._seed = recipe.seed
        choose = Random(f"{recipe.seed}/singles")  # noqa: S311
        of_phrase: dict[str, list[ContrastRow]] = {}
        for row in contrasts:
            of_phrase.setdefault(row.phrase, []).append(row)
        self._groups = [
            rows[first : first + _MOST]
            for rows in of_phrase.values()
            if len(rows) > 1 or choose.random() < recipe.singles
            for first in range(0, len(rows), _MOST)
        ]

    def __iter__(self) -> Iterator[ClaimBatch]:
        for epoch in count():
            yield from self._epoch(Random(f"{self._seed}/{epoch}"))  # noqa: S311

    def _epoch(self, choose: Random) -> Iterator[ClaimBatch]:
        groups = choose.sample(self._groups, len(self._groups))
        for first in range(0, len(groups), _POOL):
            pool = [[self._row(one) for one in group] for group in groups[first : first + _POOL]]
            pool.sort(key=_longest)
            batches = list(self._packed(pool))
            choose.shuffle(batches)
            yield from map(_batch, batches)

    def _packed(self, groups: Sequence[list[_Row]]) -> Iterator[list[list[_Row]]]:
        """Groups, by rising length, in batches of so many pieces."""
        batch: list[list[_Row]] = []
        for group in groups:
            rows = sum(map(len, batch)) + len(group)
            if batch and rows * _longest(group) > self._batch_pieces:
                yield batch
                batch = []
            batch.append(group)
        if batch:
            yield batch

    def _row(self, row: ContrastRow) -> _Row:
        claim = claim_in(row.phrase, row.text, row.start, row.end)
        return _Row(*self._inputs.row(claim), row.says)


def _longest(group: list[_Row]) -> int:
    return max(len(row.ids) for row in group)


def _batch(groups: Sequence[list[_Row]]) -> ClaimBatch:
    rows = [row for group in groups for row in group]
    ids, mask = pad([row.ids for row in rows])
    types, _ = pad([row.types for row in rows])
    says = np.array([row.says for row in rows], dtype=np.float32)
    phrases = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    return ClaimBatch(ids, mask, types, says, phrases)


def train_verifier(
    recipe: VerifierRecipe, contrasts: Iterable[ContrastRow], out: Path, progress: Report = silent
) -> None:
    """Train a verifier and write it as a Hugging Face folder.

    Word embeddings are frozen. ``log.jsonl`` in the folder has the losses, ``checkpoint/`` the
    weights of every ``save_every`` steps.

    Raises:
        MissingExtraError: without the extra ``train``.
        InputError: if the folder is not empty, or the loss is not a number.
        ModelError: if the model cannot be loaded.
    """
    from transformers import AutoModelForSequenceClassification

    if out.exists() and any(out.iterdir()):
        raise InputError(f"{out}: is not empty; choose another folder")
    out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(recipe.seed)
    base = load_encoder(recipe.model)
    network = AutoModelForSequenceClassification.from_pretrained(
        base.folder, num_labels=1, local_files_only=True, dtype=torch.float32
    )
    tokenizer = base.plain_tokenizer()
    inputs = ClaimInputs(Aligner(tokenizer), recipe.max_length)
    batches = ClaimBatches(contrasts, inputs, recipe)
    optimizer = torch.optim.AdamW(_parameters(network, recipe), weight_decay=recipe.weight_decay)

    def save(folder: Path) -> None:
        network.save_pretrained(folder, safe_serialization=True)
        base.tokenizer.save_pretrained(folder)

    began = time.monotonic()
    network.train()
    with (out / LOG_FILE).open("wb") as log:
        for step, batch in enumerate(islice(batches, recipe.steps)):
            rate = recipe.rate(step, time.monotonic() - began)
            if not rate:
                break
            losses = _step(network, optimizer, batch, recipe, rate)
            if losses["loss"] != losses["loss"]:
                raise InputError(f"step {step + 1}: the loss is not a number; lower learning_rate")
            line = {"step": step + 1, "time": round(time.time(), 3), **losses}
            log.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
            log.flush()
            pace = (time.monotonic() - began) / (step + 1)
            left = pace * (recipe.steps - step - 1)
            progress(Tick(recipe.name, step + 1, recipe.steps, losses["loss"], left))
            if recipe.save_every and (step + 1) % recipe.save_every == 0:
                save(out / CHECKPOINT)
    save(out)


def _parameters(network: Any, recipe: VerifierRecipe) -> list[dict[str, Any]]:
    """Groups of trained parameters; ``scale`` is their part of the learning rate."""
    head, body = [], []
    for name, parameter in network.named_parameters():
        if _WORDS in name:
            parameter.requires_grad_(False)
        elif name.startswith("classifier") or "pooler" in name:
            head.append(parameter)
        else:
            body.append(parameter)
    return [{"params": body, "scale": 1.0}, {"params": head, "scale": recipe.head_rate}]


def _step(
    network: Any, optimizer: Any, batch: ClaimBatch, recipe: VerifierRecipe, rate: float
) -> dict[str, float]:
    device = network.device
    arrays = (batch.ids, batch.mask, batch.types, batch.says, batch.phrases)
    ids, mask, types, says, phrases = (torch.from_numpy(array).to(device) for array in arrays)
    with torch.autocast(device.type, dtype=torch.bfloat16, enabled=recipe.bf16):
        odds = network(input_ids=ids, attention_mask=mask, token_type_ids=types).logits
    odds = odds.float().squeeze(-1)
    entropy = torch.nn.functional.binary_cross_entropy_with_logits(odds, says)
    ranking = _ranking_loss(odds, says, phrases)
    loss = entropy + recipe.pairwise * ranking
    found = {"loss": loss, "entropy": entropy, "ranking": ranking}
    for group in optimizer.param_groups:
        group["lr"] = rate * group["scale"]
    optimizer.zero_grad()
    loss.backward()
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    torch.nn.utils.clip_grad_norm_(parameters, recipe.clip)
    optimizer.step()
    return {name: float(value.detach()) for name, value in found.items()}


def _ranking_loss(odds: Any, says: Any, phrases: Any) -> Any:
    """Mean logistic loss over pairs of claims of a phrase, of which one holds and one does not."""
    pairs = (phrases[:, None] == phrases[None, :]) & (says[:, None] > says[None, :])
    if not pairs.any():
        return odds.sum() * 0
    return torch.nn.functional.softplus(-(odds[:, None] - odds[None, :])[pairs]).mean()
