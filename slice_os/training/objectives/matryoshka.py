"""Matryoshka: any objective, at several numbers of dimensions at once."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from slice_os.alignment import AlignedText
from slice_os.training.encoding import Student
from slice_os.training.objectives.base import Objective
from slice_os.training.records import Record
from slice_os.training.spans import States
from slice_os.training.teachers import Teacher


def at_dimensions(
    objective: Objective,
    dimensions: Sequence[int],
    batch: Sequence[Record],
    student: Student,
    teacher: Teacher,
    rng: Random,
) -> Any:
    """The mean of an objective over shortened vectors (Matryoshka; Kusupati et al., 2022).

    Vectors are shortened as an index shortens them, to their coordinates along the first rows
    of a projection, here the teacher's. Each text runs through both networks once; the teacher
    keeps all its dimensions.

    Args:
        objective: takes a batch to a loss.
        dimensions: how many to keep, such as 384, 256, 128.
        batch: records of the objective's kind.
        student: the encoder that is trained.
        teacher: what it learns from.
        rng: the objective samples alike for each number of dimensions.
    """
    state = rng.getstate()
    seen: dict[tuple[str, ...], States] = {}
    remembered = Remembered(teacher)
    losses = []
    for dimension in dimensions:
        rng.setstate(state)
        projection = teacher.projection[:dimension] if dimension < len(teacher.projection) else None
        losses.append(objective(batch, Narrowed(student, projection, seen), remembered, rng))
    return sum(losses) / len(losses)


class Remembered:
    """A teacher that reads each text only once."""

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


class Narrowed:
    """A student with shortened vectors, or with its own; each text is encoded once.

    Args:
        whole: the student.
        projection: ``(fewer, dimension)`` directions to keep; None keeps the vectors.
        seen: states of texts, shared by all that narrow the same student.
    """

    def __init__(
        self, whole: Student, projection: Any, seen: dict[tuple[str, ...], States]
    ) -> None:
        self._whole = whole
        self._projection = projection
        self._seen = seen

    def align(self, text: str) -> AlignedText:
        """A text's words and pieces; see `Student.align`."""
        return self._whole.align(text)

    def encode(self, texts: Sequence[str]) -> States:
        """Token vectors of texts, padded to the longest."""
        key = tuple(texts)
        if key not in self._seen:
            self._seen[key] = self._whole.encode(texts)
        states = self._seen[key]
        return states if self._projection is None else states.along(self._projection)
