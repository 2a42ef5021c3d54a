"""Training a reader of vectors: its recipe, its steps, and how well it orders hits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch

from slice_os.arrays import FloatArray, IntArray, unit_rows
from slice_os.evaluation.measures import ranks
from slice_os.records import Count, Natural, NotNegative, Positive
from slice_os.verifier.bundled import WEIGHTS

from .near_words import Near, feeds
from .readings import Readings, read_readings
from .training import rising_and_falling
from .vector_network import VectorNetwork


@dataclass(frozen=True, slots=True)
class ReaderRecipe:
    """A recipe, every value checked.

    Attributes:
        width, layers: of the network; ``inner`` numbers between the two products of a layer.
        steps: each over so many ``phrases``, with all their hits.
        head_rate: how many times as fast what does not come from the encoder learns.
        labels: weight of a label against what the verifier says, where there is one.
        ranking: weight of the loss on the order of the hits of a phrase.
        left_out: kinds of text for development.
    """

    name: str
    steps: Count
    width: Count = 128
    inner: Count = 512
    layers: Count = 2
    phrases: Count = 10
    learning_rate: Positive = 1e-4
    head_rate: Positive = 3.0
    warmup: Natural = 100
    weight_decay: NotNegative = 0.01
    dropout: NotNegative = 0.1
    clip: Positive = 1.0
    labels: NotNegative = 0.5
    ranking: NotNegative = 1.0
    bf16: bool = True
    seed: int = 0
    save_every: Natural = 200
    left_out: tuple[str, ...] = ("evidence", "nda", "web")

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        return self.learning_rate * rising_and_falling(step, self.warmup, self.steps)


@dataclass(frozen=True, slots=True)
class Group:
    """The hits of a phrase in a file: numbers of rows."""

    phrase: str
    readings: Readings
    rows: np.ndarray


class ReaderRun:
    """A network and its optimizer, taken step by step."""

    def __init__(self, recipe: ReaderRecipe, network: VectorNetwork) -> None:
        self.recipe, self.network = recipe, network
        self.device = next(network.parameters()).device
        body = [(n, p) for n, p in network.named_parameters() if n.startswith("layers.")]
        head = [(n, p) for n, p in network.named_parameters() if not n.startswith("layers.")]
        self.trained = [*body, *head]
        self._scales = (1.0, recipe.head_rate)
        self.optimizer = torch.optim.AdamW(
            [{"params": [p for _, p in part]} for part in (body, head)],
            weight_decay=recipe.weight_decay,
            fused=True,
        )

    def step(self, step: int, groups: Sequence[Group]) -> dict[str, float]:
        """Take a step."""
        recipe = self.recipe
        torch.manual_seed(Random(f"{recipe.seed}/{step}").getrandbits(63))  # noqa: S311
        self.network.train()
        outputs = outputs_of(self.network, groups, recipe.bf16)
        goals = torch.from_numpy(np.concatenate([goal(one) for one in groups])).to(self.device)
        right = np.concatenate([one.readings.right[one.rows] for one in groups])
        label = torch.from_numpy(right.astype(np.float32)).to(self.device)
        weight = recipe.labels * (label >= 0)
        taught = torch.sigmoid(goals[:, 0])
        taught = (1 - weight) * taught + weight * label.clamp(min=0)
        entropy = torch.nn.functional.binary_cross_entropy_with_logits(outputs[:, 0], taught)
        parts = torch.nn.functional.binary_cross_entropy_with_logits(
            outputs[:, 1:], torch.sigmoid(goals[:, 1:])
        )
        ranking = self._ranking(outputs[:, 0], taught, [len(one.rows) for one in groups])
        loss = entropy + parts + recipe.ranking * ranking
        for group, scale in zip(self.optimizer.param_groups, self._scales, strict=True):
            group["lr"] = recipe.rate(step) * scale
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([p for _, p in self.trained], recipe.clip)
        self.optimizer.step()
        found = {"loss": loss, "entropy": entropy, "parts": parts, "ranking": ranking}
        return {name: float(value.detach()) for name, value in found.items()}

    def _ranking(self, odds: Any, taught: Any, sizes: list[int]) -> Any:
        """Logistic loss of pairs of hits of a phrase, weighed by how far apart they should be."""
        phrase = torch.arange(len(sizes), device=self.device).repeat_interleave(
            torch.tensor(sizes, device=self.device)
        )
        apart = (taught[:, None] - taught[None, :]).clamp(min=0)
        apart = apart * (phrase[:, None] == phrase[None, :])
        losses = torch.nn.functional.softplus(-(odds[:, None] - odds[None, :]))
        return (apart * losses).sum() / apart.sum().clamp(min=1e-3)


def goal(group: Group) -> np.ndarray:
    """``(n, 3)`` log-odds of the bundled verifier, of its network, and of its wording."""
    network, wording, constant = WEIGHTS
    own = group.readings.network[group.rows], group.readings.wording[group.rows]
    return np.stack([network * own[0] + wording * own[1] + constant, *own], 1).astype(np.float32)


def outputs_of(network: VectorNetwork, groups: Sequence[Group], bf16: bool) -> Any:
    """``(n_hits, 3)`` outputs of the hits of groups, in their order; short ones are read apart."""
    device = next(network.parameters()).device
    places = [(group, row) for group in groups for row in group.rows]
    lengths = np.array([_length(group, row) for group, row in places])
    order = np.argsort(lengths, kind="stable")
    found = []
    for part in np.array_split(order, max(1, len(order) // 96)):
        feeds = inputs_of([places[number] for number in part])
        tensors = [torch.from_numpy(one).to(device) for one in feeds.values()]
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=bf16):
            found.append(network(*tensors).float())
    return torch.cat(found)[torch.from_numpy(np.argsort(order, kind="stable")).to(device)]


def _length(group: Group, row: int) -> int:
    one = group.readings
    return int(one.their_ends[row] - (one.their_ends[row - 1] if row else 0))


def inputs_of(places: Sequence[tuple[Group, int]]) -> dict[str, FloatArray | IntArray]:
    """What a network reads of some hits, padded."""
    phrases, hits = [], []
    for group, row in places:
        one, phrase = group.readings, group.readings.phrase[row]
        first = one.our_ends[phrase - 1] if phrase else 0
        phrases.append(unit_rows(one.ours[first : one.our_ends[phrase]].astype(np.float32)))
        first, last = one.their_ends[row - 1] if row else 0, one.their_ends[row]
        vectors = unit_rows(one.theirs[first:last].astype(np.float32))
        numbers = float(one.cosine[row]), float(one.prior[row])
        parts = one.parts[first:last].astype(np.int64)
        hits.append(Near(vectors, parts, int(one.places[row]), *numbers))
    return feeds(phrases, hits)


def groups_of(paths: Sequence[Path]) -> list[Group]:
    """The hits of all phrases of some files."""
    found = []
    for path in paths:
        readings = read_readings(path)
        ends = np.flatnonzero(np.diff(readings.phrase, append=-1)) + 1
        found += [
            Group(readings.texts[first][0], readings, np.arange(first, end))
            for first, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)
        ]
    return found


def batches(groups: Sequence[Group], recipe: ReaderRecipe, first: int) -> Iterator[list[Group]]:
    """The groups of all steps but the first so many, epoch by epoch, without end."""
    step = epoch = 0
    while True:
        rng = Random(f"{recipe.seed}/{epoch}")  # noqa: S311
        order = rng.sample(groups, len(groups))
        for start in range(0, len(order) - recipe.phrases + 1, recipe.phrases):
            if step >= first:
                yield order[start : start + recipe.phrases]
            step += 1
        epoch += 1


def agreement(network: VectorNetwork, groups: Sequence[Group], bf16: bool) -> dict[str, float]:
    """How the network orders hits, beside the verifier: see the names."""
    network.eval()
    with torch.inference_mode():
        parts = [groups[at : at + 16] for at in range(0, len(groups), 16)]
        odds = np.concatenate([outputs_of(network, part, bf16).cpu().numpy() for part in parts])
    goals = np.concatenate([goal(one) for one in groups])
    right = np.concatenate([one.readings.right[one.rows] for one in groups])
    cosine = np.concatenate([one.readings.cosine[one.rows] for one in groups])
    read = right >= 0
    likely = goals[:, 0] > 0
    found = {
        "dev_r2": 1 - float(((odds - goals) ** 2)[:, 0].mean() / goals[:, 0].var()),
        "dev_r2_network": 1 - float(((odds - goals) ** 2)[:, 1].mean() / goals[:, 1].var()),
        "dev_auc_of_verifier": auc(odds[:, 0], likely),
        "dev_auc_of_verifier_by_cosine": auc(cosine, likely),
    }
    if read.any():
        of = {"": odds[:, 0], "_by_cosine": cosine, "_by_verifier": goals[:, 0]}
        found |= {f"dev_auc{name}": auc(one[read], right[read] > 0) for name, one in of.items()}
    return found


def auc(values: np.ndarray, right: np.ndarray) -> float:
    """The share of pairs in which the right one has the higher value."""
    n = int(right.sum())
    total = float(ranks(values)[right].sum())
    return (total - n * (n + 1) / 2) / max(1, n * (len(right) - n))
