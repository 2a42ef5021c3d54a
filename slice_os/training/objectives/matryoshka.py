"""Matryoshka: any objective, at several numbers of dimensions at once."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from slice_os.training.encoding import TextEncoder
from slice_os.training.objectives.base import Objective
from slice_os.training.records import Record
from slice_os.training.spans import States


def at_dimensions(
    objective: Objective,
    dimensions: Sequence[int],
    batch: Sequence[Record],
    student: TextEncoder,
    teacher: TextEncoder,
    rng: Random,
) -> Any:
    """The mean of an objective over the first numbers of every vector (Kusupati et al., 2022).

    Each text runs through the network once; the teacher keeps all its dimensions.

    Args:
        objective: what to take the mean of.
        dimensions: how many numbers to keep, such as 384, 256, 128.
        batch: records of the objective's kind.
        student: the encoder that is trained.
        teacher: the frozen one.
        rng: what the objective draws, it draws alike for each number of dimensions.
    """
    draws = rng.getstate()
    seen: dict[tuple[str, ...], States] = {}
    losses = []
    for dimension in dimensions:
        rng.setstate(draws)
        losses.append(objective(batch, Narrowed(student, dimension, seen), teacher, rng))
    return sum(losses) / len(losses)


class Narrowed(TextEncoder):
    """An encoder whose vectors are cut to their first numbers; each text is encoded once."""

    def __init__(
        self, whole: TextEncoder, dimension: int, seen: dict[tuple[str, ...], States]
    ) -> None:
        self._whole = whole
        self._dimension = dimension
        self._seen = seen
        self.align = whole.align

    def encode(self, texts: Sequence[str]) -> States:
        """Token vectors of texts, cut."""
        key = tuple(texts)
        if key not in self._seen:
            self._seen[key] = self._whole.encode(texts)
        return self._seen[key].narrowed(self._dimension)
