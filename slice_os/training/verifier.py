"""Training a verifier: its recipe, batches of claims, and the steps.

The network has one row of outputs a word piece. The first output of the first piece is the
log-odds that the claim holds; the others say, of each piece of the text, how it speaks against it.
The loss is cross-entropy on both, and a ranking of the claims of each phrase.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
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
from slice_os.training.run_files import RunLog
from slice_os.training.settings import (
    Count,
    Natural,
    NotNegative,
    Positive,
    Settings,
    at_least,
    read_settings,
)
from slice_os.training.stage import StageState, load_checkpoint, save_checkpoint
from slice_os.verifier.claims import claim_in
from slice_os.verifier.cross_encoder import AGAINST, ClaimInputs

RECIPE_FILE = "recipe.json"
CHECKPOINT = "checkpoint"
_WORDS = "embeddings.word_embeddings"
_UNKNOWN = -100
# Groups are shuffled, then sorted by length within so many, then their batches are shuffled.
_POOL = 2_000
# More claims of one phrase make several groups.
_MOST = 12
_CODE_POINTS, _SPECIAL = 4, 4  # of a word piece, about; and pieces that are no words


@dataclass(frozen=True, slots=True)
class VerifierRecipe(Settings):
    """A recipe, every value checked.

    Attributes:
        model: Hugging Face name, or folder, of the encoder to start from.
        license: SPDX expression of the result.
        batch_pieces: word pieces of a batch, about, padding included.
        max_length: longest input in word pieces.
        learning_rate: at its highest; it rises for ``warmup`` steps and falls to 0 at the end.
        warmup: steps of rising.
        head_rate: how many times as fast the new last layer learns.
        clip: largest norm of the gradient.
        pairwise: weight of the loss that puts spans that say a phrase above those that do not;
            beside it, cross-entropy has weight 1.
        against: weight of the loss of the words that speak against a claim.
        bf16: compute in bfloat16 where the CPU or GPU can.
        save_every: steps between checkpoints; 0 for none.
    """

    name: str
    model: str
    license: str
    steps: Count
    batch_pieces: Count = 2_048
    max_length: Annotated[int, at_least(16)] = 96
    learning_rate: Positive = 5e-5
    warmup: Natural = 200
    head_rate: Positive = 10.0
    weight_decay: NotNegative = 0.01
    clip: Positive = 1.0
    pairwise: NotNegative = 1.0
    against: NotNegative = 0.5
    bf16: bool = False
    seed: int = 0
    save_every: Natural = 200

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        rise = (step + 1) / max(self.warmup, 1)
        fall = (self.steps - step) / max(self.steps - self.warmup, 1)
        return self.learning_rate * min(rise, fall, 1.0)


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
        against: ``(n, length)`` 0 for a piece that does not speak against the claim, the place of
            its kind in `AGAINST` and 1 for one that does, -100 where that is not known.
    """

    ids: IntArray
    mask: IntArray
    types: IntArray
    says: npt.NDArray[np.float32]
    phrases: IntArray
    against: IntArray


class ClaimBatches:
    """Contrasts as batches, epoch by epoch, without end; the same seed gives the same ones."""

    def __init__(
        self, contrasts: Iterable[ContrastRow], inputs: ClaimInputs, recipe: VerifierRecipe
    ) -> None:
        self._inputs = inputs
        self._longest, self._budget = recipe.max_length, recipe.batch_pieces
        self._seed = recipe.seed
        of_phrase: dict[str, list[ContrastRow]] = {}
        for row in contrasts:
            of_phrase.setdefault(row.phrase, []).append(row)
        self._groups = [
            rows[first : first + _MOST]
            for rows in of_phrase.values()
            for first in range(0, len(rows), _MOST)
        ]

    def after(self, steps: int) -> Iterator[ClaimBatch]:
        """The batches of all steps but the first so many."""
        return map(self._batch, islice(self._planned(), steps, None))

    def _planned(self) -> Iterator[list[list[ContrastRow]]]:
        for epoch in count():
            choose = Random(f"{self._seed}/{epoch}")  # noqa: S311
            groups = choose.sample(self._groups, len(self._groups))
            for first in range(0, len(groups), _POOL):
                pool = sorted(groups[first : first + _POOL], key=self._length)
                batches = list(self._packed(pool))
                choose.shuffle(batches)
                yield from batches

    def _packed(self, groups: Sequence[list[ContrastRow]]) -> Iterator[list[list[ContrastRow]]]:
        """Groups, by rising length, in batches of about so many pieces."""
        batch: list[list[ContrastRow]] = []
        for group in groups:
            rows = sum(map(len, batch)) + len(group)
            if batch and rows * self._length(group) > self._budget:
                yield batch
                batch = []
            batch.append(group)
        if batch:
            yield batch

    def _length(self, group: list[ContrastRow]) -> int:
        code_points = max(len(row.phrase) + len(row.text) for row in group)
        return min(self._longest, _SPECIAL + code_points // _CODE_POINTS)

    def _batch(self, groups: Sequence[list[ContrastRow]]) -> ClaimBatch:
        contrasts = [row for group in groups for row in group]
        claims = [claim_in(row.phrase, row.text, row.start, row.end) for row in contrasts]
        rows = [self._inputs.row(claim) for claim in claims]
        ids, mask = pad([row.ids for row in rows])
        types, _ = pad([row.types for row in rows])
        against = np.full_like(ids, _UNKNOWN)
        for number, (contrast, claim, row) in enumerate(zip(contrasts, claims, rows, strict=True)):
            if contrast.against is not None:
                before = contrast.start - claim.start
                found = _labels(contrast, row.places + before)
                against[number, : len(row.ids)] = np.where(row.places[:, 1] > 0, found, _UNKNOWN)
        says = np.array([row.says for row in contrasts], dtype=np.float32)
        phrases = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        return ClaimBatch(ids, mask, types, says, phrases, against)


def _labels(contrast: ContrastRow, places: IntArray) -> IntArray:
    """Of each piece, whether it speaks against the claim, and how."""
    labels = np.zeros(len(places), dtype=np.int64)
    for start, end in contrast.against or ():
        inside = (places[:, 0] < end) & (places[:, 1] > start)
        labels[inside] = AGAINST.index(contrast.kind) + 1
    return labels


class VerifierRun:
    """A network and its optimizer, taken step by step."""

    def __init__(self, recipe: VerifierRecipe, network: Any) -> None:
        self.recipe = recipe
        self.network = network
        head, body = [], []
        for name, parameter in network.named_parameters():
            parameter.requires_grad_(_WORDS not in name)
            if parameter.requires_grad:
                (head if name.startswith("classifier") else body).append((name, parameter))
        self.trained = [*body, *head]
        self._scales = (1.0, recipe.head_rate)
        self.optimizer = torch.optim.AdamW(
            [{"params": [p for _, p in part]} for part in (body, head)],
            weight_decay=recipe.weight_decay,
        )

    def step(self, step: int, batch: ClaimBatch) -> dict[str, float]:
        """Take a step; `InputError` if the loss is not a number."""
        recipe, device = self.recipe, self.network.device
        torch.manual_seed(Random(f"{recipe.seed}/{step}").getrandbits(63))  # noqa: S311
        self.network.train()
        tensors = {name: torch.from_numpy(one).to(device) for name, one in asdict(batch).items()}
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=recipe.bf16):
            outputs = self.network(
                input_ids=tensors["ids"],
                attention_mask=tensors["mask"],
                token_type_ids=tensors["types"],
            ).logits
        outputs = outputs.float()
        odds, says = outputs[:, 0, 0], tensors["says"]
        entropy = torch.nn.functional.binary_cross_entropy_with_logits(odds, says)
        ranking = _ranking_loss(odds, says, tensors["phrases"])
        against = _against_loss(outputs[:, :, 1:], tensors["against"])
        loss = entropy + recipe.pairwise * ranking + recipe.against * against
        for group, scale in zip(self.optimizer.param_groups, self._scales, strict=True):
            group["lr"] = recipe.rate(step) * scale
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for _, p in self.trained], recipe.clip)
        self.optimizer.step()
        found = {"loss": loss, "entropy": entropy, "ranking": ranking, "against": against}
        losses = {name: float(value.detach()) for name, value in found.items()}
        if losses["loss"] != losses["loss"]:
            raise InputError(f"step {step + 1}: the loss is not a number; lower learning_rate")
        return losses


def _ranking_loss(odds: Any, says: Any, phrases: Any) -> Any:
    """Mean logistic loss over pairs of claims of a phrase, of which one holds and one does not."""
    pairs = (phrases[:, None] == phrases[None, :]) & (says[:, None] > says[None, :])
    if not pairs.any():
        return odds.sum() * 0
    return torch.nn.functional.softplus(-(odds[:, None] - odds[None, :])[pairs]).mean()


def _against_loss(outputs: Any, against: Any) -> Any:
    """Cross-entropy of the pieces whose label is known; half of it for those that speak against."""
    parts = []
    for chosen in (against == 0, against > 0):
        if chosen.any():
            parts.append(torch.nn.functional.cross_entropy(outputs[chosen], against[chosen]))
    return sum(parts) / 2 if parts else outputs.sum() * 0


def train_verifier(
    recipe: VerifierRecipe, contrasts: Iterable[ContrastRow], out: Path, progress: Report = silent
) -> None:
    """Train a verifier and write it as a Hugging Face folder, or resume it where it stopped.

    Word embeddings are frozen. ``log.jsonl`` in the folder has the losses, ``checkpoint/`` the
    state every ``save_every`` steps; a run resumed from it ends with the same weights.

    Raises:
        MissingExtraError: without the extra ``train``.
        InputError: if the folder holds something else, or the loss is not a number.
        ModelError: if the model cannot be loaded.
    """
    from transformers import AutoModelForTokenClassification

    _claim(out, recipe)
    torch.manual_seed(recipe.seed)
    base = load_encoder(recipe.model)
    network = AutoModelForTokenClassification.from_pretrained(
        base.folder, num_labels=2 + len(AGAINST), local_files_only=True, dtype=torch.float32
    ).to("cuda" if torch.cuda.is_available() else "cpu")
    run = VerifierRun(recipe, network)
    first = load_checkpoint(out / CHECKPOINT, run).step
    inputs = ClaimInputs(Aligner(base.plain_tokenizer()), recipe.max_length)
    batches = ClaimBatches(contrasts, inputs, recipe).after(first)
    began = time.monotonic()
    with RunLog(out, recipe.name, tensorboard=False) as log:
        for step, batch in zip(range(first, recipe.steps), batches, strict=False):
            losses = run.step(step, batch)
            log.write(step + 1, {"rows": len(batch.says), **losses})
            pace = (time.monotonic() - began) / (step + 1 - first)
            left = pace * (recipe.steps - step - 1)
            progress(Tick(recipe.name, step + 1, recipe.steps, losses["loss"], left))
            if recipe.save_every and (step + 1) % recipe.save_every == 0:
                save_checkpoint(out / CHECKPOINT, run, StageState(step + 1))
    network.save_pretrained(out, safe_serialization=True)
    base.tokenizer.save_pretrained(out)


def _claim(out: Path, recipe: VerifierRecipe) -> None:
    """Take a folder that is empty, or holds a run of the same recipe."""
    note = out / RECIPE_FILE
    content = orjson.dumps(asdict(recipe), option=orjson.OPT_INDENT_2)
    if note.is_file() and note.read_bytes() == content:
        return
    if out.exists() and any(out.iterdir()):
        raise InputError(f"{out}: holds something else than this run; choose another folder")
    out.mkdir(parents=True, exist_ok=True)
    note.write_bytes(content)
