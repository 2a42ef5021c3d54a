"""The recipe of a verifier, as a frozen dataclass, every value checked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from slice_os.training.settings import at_least, from_table, not_negative, positive, read_toml


@dataclass(frozen=True, slots=True)
class VerifierRecipe:
    """A recipe for a verifier.

    Attributes:
        name: of the verifier.
        model: Hugging Face name, or folder, of the encoder to start from.
        license: SPDX expression of the result.
        steps: optimizer steps.
        minutes: the learning rate falls with the time, too, and the run ends after so many minutes;
            0 for no limit. With a limit, two runs differ.
        singles: share of the phrases with a single contrast that are used.
        batch_pieces: word pieces of a batch, padding included.
        max_length: longest input in word pieces.
        learning_rate: at its highest; it rises for ``warmup`` steps and falls to 0 at the end.
        warmup: steps of rising.
        head_rate: how many times as fast the new last layer learns.
        weight_decay: of AdamW.
        clip: largest norm of the gradient.
        pairwise: weight of the loss that puts spans that say a phrase above those that do not;
            beside it, cross-entropy has weight 1.
        bf16: compute in bfloat16 where the CPU or GPU can.
        seed: of all random choices.
        save_every: steps between checkpoints; 0 for none.
    """

    name: str
    model: str
    license: str
    steps: int
    minutes: float = 0.0
    singles: float = 1.0
    batch_pieces: int = 2_048
    max_length: int = 96
    learning_rate: float = 5e-5
    warmup: int = 20
    head_rate: float = 10.0
    weight_decay: float = 0.01
    clip: float = 1.0
    pairwise: float = 1.0
    bf16: bool = False
    seed: int = 0
    save_every: int = 50

    def __post_init__(self) -> None:
        at_least("steps", self.steps, 1)
        at_least("batch_pieces", self.batch_pieces, 1)
        at_least("max_length", self.max_length, 16)
        at_least("warmup", self.warmup, 0)
        at_least("save_every", self.save_every, 0)
        positive("learning_rate", self.learning_rate)
        positive("head_rate", self.head_rate)
        positive("clip", self.clip)
        not_negative("weight_decay", self.weight_decay)
        not_negative("pairwise", self.pairwise)
        not_negative("minutes", self.minutes)
        not_negative("singles", self.singles)

    def rate(self, step: int, seconds: float) -> float:
        """The learning rate of a step, counted from 0, so long after the start; 0 at the end."""
        rise = (step + 1) / max(self.warmup, 1)
        fall = (self.steps - step) / max(self.steps - self.warmup, 1)
        left = 1 - seconds / (60 * self.minutes) if self.minutes else 1.0
        return self.learning_rate * max(0.0, min(rise, fall, left))


def read_recipe(path: Path) -> VerifierRecipe:
    """Read and check a recipe.

    Raises:
        InputError: if the file is missing or not TOML, or a value cannot be.
    """
    return from_table(VerifierRecipe, read_toml(path), str(path))
