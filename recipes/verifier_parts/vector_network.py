"""A network that reads vectors: of the words of a phrase, and of a hit and what is around it.

Each word is put beside what answers it on the other side, softly aligned by cosine. A few layers of
a trained encoder then read both sides together. Three outputs: log-odds that the hit says the
phrase, and those that the network and the wording of the bundled verifier give.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import nn

HEAD, OUTPUTS, NUMBERS = 32, 3, 2
PLACES, MOST = 64, 24  # places of words before and behind the first one of a span, or of a phrase
SIDES = 4  # the phrase; and outside the sentence, in it, in the span


class Layer(nn.Module):  # type: ignore[misc]
    """A layer of BERT."""

    def __init__(self, width: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.all = nn.Linear(width, 3 * width)
        self.mixed, self.widened = nn.Linear(width, width), nn.Linear(width, inner)
        self.narrowed = nn.Linear(inner, width)
        self.first, self.second = nn.LayerNorm(width, 1e-12), nn.LayerNorm(width, 1e-12)
        self.dropout = nn.Dropout(dropout)

    def forward(self, words: torch.Tensor, masked: torch.Tensor) -> torch.Tensor:
        """``(n, length, width)`` words, read together; ``masked`` is added to attention."""
        rows, length, width = words.shape
        split = self.all(words).view(rows, length, 3, width // HEAD, HEAD)
        asks, keys, values = split.permute(2, 0, 3, 1, 4)
        scores = asks @ keys.transpose(2, 3) * HEAD**-0.5 + masked[:, None, None]
        found = scores.softmax(dim=-1) @ values
        found = self.mixed(found.transpose(1, 2).reshape(rows, length, width))
        words = self.first(words + self.dropout(found))
        inner = self.narrowed(nn.functional.gelu(self.widened(words)))
        return self.second(words + self.dropout(inner))


class VectorNetwork(nn.Module):  # type: ignore[misc]
    """Reads ``(n, length, dimension)`` unit vectors of phrases (``ours``) and hits (``theirs``).

    Sides and places are those of the words of hits, see `near_words.Near`; a place counts
    from the first word of the span. Words of padding have a mask of 0.
    """

    def __init__(
        self, dimension: int, width: int, inner: int, layers: int, dropout: float = 0.1
    ) -> None:
        super().__init__()
        self.own, self.other = nn.Linear(dimension, width), nn.Linear(dimension, width)
        self.both = nn.Linear(dimension, width)
        self.nearest = nn.Linear(1, width, bias=False)
        self.sides, self.places = nn.Embedding(SIDES, width), nn.Embedding(PLACES, width)
        self.sharpness = nn.Parameter(torch.tensor(10.0))
        self.start = nn.Parameter(torch.zeros(width))
        self.numbers = nn.Linear(NUMBERS, width)
        self.norm = nn.LayerNorm(width, 1e-12)
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.ModuleList(Layer(width, inner, dropout) for _ in range(layers))
        self.pooled = nn.Linear(3 * width, width)
        self.head = nn.Linear(width + NUMBERS, OUTPUTS)

    def forward(
        self,
        ours: torch.Tensor,
        our_mask: torch.Tensor,
        theirs: torch.Tensor,
        their_mask: torch.Tensor,
        sides: torch.Tensor,
        places: torch.Tensor,
        numbers: torch.Tensor,
    ) -> torch.Tensor:
        """``(n, 3)`` log-odds; ``numbers`` are ``(n, 2)``, cosine and log-odds of the prior."""
        cosines = ours @ theirs.transpose(1, 2)
        apart = (1 - their_mask)[:, None] * -1e4
        ours_in_theirs = (self.sharpness * cosines + apart).softmax(dim=2) @ theirs
        apart = (1 - our_mask)[:, None] * -1e4
        turned = cosines.transpose(1, 2)
        theirs_in_ours = (self.sharpness * turned + apart).softmax(dim=2) @ ours
        own = torch.cat([ours, theirs], dim=1)
        other = torch.cat([ours_in_theirs, theirs_in_ours], dim=1)
        length = ours.shape[1]
        side = torch.cat([torch.zeros_like(our_mask).long(), sides + 1], dim=1)
        count = torch.ones_like(our_mask).cumsum(dim=1).long() - 1
        place = torch.cat([count, places], dim=1).clamp(-MOST, PLACES - 1 - MOST)
        words = self.own(own) + self.other(other) + self.both(own * other * own.shape[2] ** 0.5)
        words = words + self.nearest((own * other).sum(dim=2, keepdim=True))
        words = words + self.sides(side) + self.places(place + MOST)
        start = (self.start + self.numbers(numbers))[:, None]
        words = self.dropout(self.norm(torch.cat([start, words], dim=1)))
        mask = torch.cat([torch.ones_like(our_mask[:, :1]), our_mask, their_mask], dim=1)
        for layer in self.layers:
            words = layer(words, (1 - mask) * -1e4)
        phrase, hit = our_mask, their_mask * (sides == 2)
        means = [
            (part * weight[:, :, None]).sum(dim=1) / weight.sum(dim=1, keepdim=True).clamp(min=1)
            for part, weight in ((words[:, 1 : length + 1], phrase), (words[:, length + 1 :], hit))
        ]
        pooled = torch.tanh(self.pooled(torch.cat([words[:, 0], *means], dim=1)))
        return self.head(torch.cat([pooled, numbers], dim=1))


def from_encoder(folder: Path, layers: int, dropout: float) -> VectorNetwork:
    """A network whose layers are the uppermost ones of a BERT encoder, in a Hugging Face folder.

    Words keep their vectors at first, at the length that these layers are used to.
    """
    weights = load_file(folder / "model.safetensors")
    width = weights["embeddings.word_embeddings.weight"].shape[1]
    total = 1 + max(int(n.split(".")[2]) for n in weights if n.startswith("encoder.layer."))
    inner = weights["encoder.layer.0.intermediate.dense.weight"].shape[0]
    network = VectorNetwork(width, width, inner, layers, dropout)
    for number, layer in enumerate(network.layers):
        part = f"encoder.layer.{total - layers + number}"
        _copy(layer, weights, part)
    below = f"encoder.layer.{total - layers - 1}.output.LayerNorm"
    length = float((weights[f"{below}.weight"] ** 2 + weights[f"{below}.bias"] ** 2).sum() ** 0.5)
    with torch.no_grad():
        network.own.weight.copy_(torch.eye(width) * length)
        for other in (network.other, network.both):
            other.weight.mul_(0.5)
        for table in (network.sides, network.places):
            table.weight.mul_(0.1)
        network.norm.weight.copy_(torch.full((width,), length / width**0.5))
    return network


def _copy(layer: Any, weights: dict[str, torch.Tensor], part: str) -> None:
    own = f"{part}.attention.self"
    names = {"mixed": "attention.output.dense", "first": "attention.output.LayerNorm"}
    names |= {"widened": "intermediate.dense", "narrowed": "output.dense"}
    names["second"] = "output.LayerNorm"
    with torch.no_grad():
        for kind in ("weight", "bias"):
            asked = [weights[f"{own}.{one}.{kind}"] for one in ("query", "key", "value")]
            getattr(layer.all, kind).copy_(torch.cat(asked))
            for ours, theirs in names.items():
                getattr(getattr(layer, ours), kind).copy_(weights[f"{part}.{theirs}.{kind}"])
