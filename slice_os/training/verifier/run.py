"""Training a verifier: cross-entropy on claims, and a ranking of the claims of each phrase."""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from slice_os.encoder.alignment import Aligner
from slice_os.encoder.hugging_face import load_encoder
from slice_os.errors import InputError
from slice_os.training.backend import torch
from slice_os.training.contrasts.contrast_rows import ContrastRow
from slice_os.training.progress import Report, Tick, silent
from slice_os.training.verifier.batches import ClaimBatch, ClaimBatches
from slice_os.training.verifier.recipe import VerifierRecipe
from slice_os.verifier.cross_encoder import ClaimInputs

LOG_FILE = "log.jsonl"
CHECKPOINT = "checkpoint"
_WORDS = "embeddings.word_embeddings"


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
    found = {
        "loss": float(loss.detach()),
        "entropy": float(entropy.detach()),
        "ranking": float(ranking.detach()),
    }
    for group in optimizer.param_groups:
        group["lr"] = rate * group["scale"]
    optimizer.zero_grad()
    loss.backward()
    parameters: Iterable[Any] = (p for group in optimizer.param_groups for p in group["params"])
    torch.nn.utils.clip_grad_norm_(list(parameters), recipe.clip)
    optimizer.step()
    return found


def _ranking_loss(odds: Any, says: Any, phrases: Any) -> Any:
    """Mean logistic loss over pairs of claims of a phrase, of which one holds and one does not."""
    pairs = (phrases[:, None] == phrases[None, :]) & (says[:, None] > says[None, :])
    if not pairs.any():
        return odds.sum() * 0
    return torch.nn.functional.softplus(-(odds[:, None] - odds[None, :])[pairs]).mean()
