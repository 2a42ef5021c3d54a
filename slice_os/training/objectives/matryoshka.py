"""Matryoshka: any objective, at several numbers of dimensions at once."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from slice_os.training.encoding import TextEncoder
from slice_os.training.objectives.base import Objective
from slice_os.training.records import Record
from slice_os.training.spans import States
from slice_os.training.teachers import Teacher


def at_dimensions(
    objective: Objective,
    dimensions: Sequence[int],
    batch: Sequence[Record],
    student: TextEncoder,
    teacher: Teacher,
    rng: Random,
) -> Any:
    """The mean of an objective over shortened vectors (Matryoshka; Kusupati et al., 2022).

    Vectors are shortened as an index shortens them: to their coordinates along the first
    principal axes, here the teacher's. Each text runs through both networks once; the teacher
    keeps all its dimensions.

    Args:
        objective: what to take the mean of.
        dimensions: how many axes to keep, such as 384, 256, 128.
        batch: records of the objective's kind.
        student: the encoder that is trained.
        teacher: what it learns from.
        rng: what the objective draws, it draws alike for each number of dimensions.
    """
    draws = rng.getstate()
    seen: dict[tuple[str, ...], States] = {}
    remembered = Remembered(teacher)
    losses = []
    for dimension in dimensions:
        rng.setstate(draws)
        projection = teacher.projection[:dimension] if dimension < len(teacher.projection) else None
        losses.append(objective(batch, Narrowed(student, projection, seen), remembered, rng))
    return sum(losses) / len(losses)


class Remembered:
    """A teacher that reads the same texts only once."""

    def __init__(self, teacher: Teacher) -> None:
        self.projection = teacher.projection
        self._teacher = teacher
        self._seen: dict[tuple[str, ...], Any] = {}

    def vectors(self, texts: Sequence[str]) -> Any:
        """Unit vectors ``(texts, dimension)``, without gradients."""
        key = tuple(texts)
        if key not in self._seen:
            self._seen[key] = self._teacher.vectors(texts)
        return self._seen[key]


class Narrowed(TextEncoder):
    """An encoder with vectors along some axes, or as they are; each text is encoded once."""

    def __init__(
        self, whole: TextEncoder, projection: Any, seen: dict[tuple[str, ...], States]
    ) -> None:
        self._whole = whole
        self._projection = projection
        self._seen = seen
        self.align = whole.align

    def encode(self, texts: Sequence[str]) -> States:
        """Token vectors of texts, along the axes where there are some."""
        key = tuple(texts)
        if key not in self._seen:
            self._seen[key] = self._whole.encode(texts)
        states = self._seen[key]
        return states if self._projection is None else states.along(self._projection)
