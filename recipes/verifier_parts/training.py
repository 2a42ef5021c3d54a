"""Training a verifier: its recipe, batches of claims, and the steps.

The network has one row of outputs a word piece. The first output of the first piece is the
log-odds that the claim holds; the others say, of each piece of the text, how it speaks against it.
The loss is cross-entropy on both, and a ranking of the claims of each phrase.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Annotated, Any

from slice_os.encoder.alignment import Aligner
from slice_os.encoder.hugging_face import load_encoder
from slice_os.errors import InputError
from slice_os.records import (
    Count,
    Natural,
    NotNegative,
    Positive,
    at_least,
    read_record,
)
from slice_os.training.backend import torch
from slice_os.training.progress import Report, Tick, silent
from slice_os.training.run import RunLog, claim_folder
from slice_os.training.stage import load_checkpoint, save_checkpoint
from slice_os.verifier.cross_encoder import ClaimInputs

from .claim_batches import ClaimBatch, ClaimBatches
from .claim_network import claim_network
from .contrast_rows import ContrastRow

CHECKPOINT = "checkpoint"
_WORDS = "embeddings.word_embeddings"
# Claims of which one surely holds more than the other.
_APART = 0.25


@dataclass(frozen=True, slots=True)
class VerifierRecipe:
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
        dropout: share of activations that a step drops; few are needed in a single epoch.
        bf16: compute in bfloat16 where the CPU or GPU can.
        exported: whether the result becomes a verifier folder; a teacher does not.
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
    dropout: NotNegative = 0.1
    bf16: bool = False
    exported: bool = True
    seed: int = 0
    save_every: Natural = 200

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        return self.learning_rate * rising_and_falling(step, self.warmup, self.steps)


def rising_and_falling(step: int, warmup: int, steps: int) -> float:
    """The share of the highest rate in a step, counted from 0: it rises, then falls to 0."""
    rise = (step + 1) / max(warmup, 1)
    fall = (steps - step) / max(steps - warmup, 1)
    return min(rise, fall, 1.0)


def read_recipe(path: Path) -> VerifierRecipe:
    """Read and check a recipe; `InputError` if it is missing, not TOML, or a value cannot be."""
    return read_record(VerifierRecipe, path)


class VerifierRun:
    """A network and its optimizer, taken step by step."""

    def __init__(self, recipe: VerifierRecipe, network: Any) -> None:
        self.recipe = recipe
        self.network = network
        head: list[tuple[str, Any]] = []
        body: list[tuple[str, Any]] = []
        for name, parameter in network.named_parameters():
            parameter.requires_grad_(_WORDS not in name)
            if parameter.requires_grad:
                (head if "classifier" in name else body).append((name, parameter))
        self.trained = [*body, *head]
        self._scales = (1.0, recipe.head_rate)
        self.optimizer = torch.optim.AdamW(
            [{"params": [p for _, p in part]} for part in (body, head)],
            weight_decay=recipe.weight_decay,
            fused=True,
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
    """Mean logistic loss over pairs of claims of a phrase, the first of which holds more."""
    pairs = (phrases[:, None] == phrases[None, :]) & (says[:, None] - says[None, :] > _APART)
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

    Raises an `InputError` if the folder holds something else, or the loss is not a number, and a
    `ModelError` if the model cannot be loaded.
    """
    claim_folder(out, recipe)
    torch.manual_seed(recipe.seed)
    base = load_encoder(recipe.model)
    network = claim_network(base.folder, recipe.dropout)
    network.to("cuda" if torch.cuda.is_available() else "cpu")
    run = VerifierRun(recipe, network)
    first = load_checkpoint(out / CHECKPOINT, run)
    batches = ClaimBatches(
        contrasts,
        ClaimInputs(Aligner(base.plain_tokenizer()), recipe.max_length),
        batch_pieces=recipe.batch_pieces,
        max_length=recipe.max_length,
        seed=recipe.seed,
    ).after(first)
    began = time.monotonic()
    with closing(RunLog(out, recipe.name, tensorboard=False)) as log:
        for step, batch in zip(range(first, recipe.steps), batches, strict=False):
            losses = run.step(step, batch)
            log.write(step + 1, {"rows": len(batch.says), **losses})
            pace = (time.monotonic() - began) / (step + 1 - first)
            left = pace * (recipe.steps - step - 1)
            progress(Tick(recipe.name, step + 1, recipe.steps, losses["loss"], left))
            if recipe.save_every and (step + 1) % recipe.save_every == 0:
                save_checkpoint(out / CHECKPOINT, run, step + 1)
    network.save_pretrained(out, safe_serialization=True)
    base.tokenizer.save_pretrained(out)
