"""The interface of objectives, losses that several share, and a mean over shortened vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any, Protocol

from slice_os.encoder.alignment import AlignedText
from slice_os.training.backend import torch
from slice_os.training.record_types import Record
from slice_os.training.span_tensors import States
from slice_os.training.teachers import Teacher
from slice_os.training.training_encoder import Student


class Objective(Protocol):
    """A frozen dataclass of settings that maps a batch to a loss."""

    @property
    def records(self) -> tuple[type, ...]:
        """The types of records that it takes."""

    def __call__(
        self, batch: Sequence[Any], student: Student, teacher: Teacher, rng: Random
    ) -> Any:
        """A scalar to minimise."""


def cosent(similarities: Any, scores: Any, scale: float) -> Any:
    """CoSENT (Su, 2022): pairs with higher scores rank higher.

    log(1 + Σ e^{scale·(s_i - s_j)}) over all i, j with score_i < score_j: 0 if all are equal.
    """
    below = scores[:, None] < scores[None, :]
    excess = (similarities[:, None] - similarities[None, :])[below] * scale
    return torch.logsumexp(torch.cat([excess.new_zeros(1), excess]), dim=0)


def contrast(similarities: Any, scale: float) -> Any:
    """Cross-entropy of each row's first similarity; ``-inf`` stands for no candidate."""
    return (torch.logsumexp(scale * similarities, dim=1) - scale * similarities[:, 0]).mean()


def own_first(similarities: Any, scale: float, answers: Any = None) -> Any:
    """`contrast` of each row's own similarity, which is on the diagonal, with others of the row.

    Answers are a mask of those that are left out; None for a row's own alone.
    """
    if answers is None:
        answers = torch.eye(*similarities.shape, dtype=torch.bool, device=similarities.device)
    others = similarities.masked_fill(answers, -torch.inf)
    return contrast(torch.cat([similarities.diagonal()[:, None], others], dim=1), scale)


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
    """
    state = rng.getstate()
    read, read_once = cache(student.encode), _ReadOnce(teacher.projection, cache(teacher.vectors))
    losses = []
    for dimension in dimensions:
        rng.setstate(state)
        projection = teacher.projection[:dimension] if dimension < len(teacher.projection) else None
        losses.append(objective(batch, _Shortened(student.align, read, projection), read_once, rng))
    return sum(losses) / len(losses)


@dataclass(frozen=True, slots=True)
class _ReadOnce:
    """A teacher whose vectors of a text are computed once."""

    projection: Any
    read: Callable[[tuple[str, ...]], Any]

    def vectors(self, texts: Sequence[str]) -> Any:
        return self.read(tuple(texts))


@dataclass(frozen=True, slots=True)
class _Shortened:
    """A student whose vectors are projected, unless the projection is None; see `Student`."""

    align: Callable[[str], AlignedText]
    read: Callable[[tuple[str, ...]], States]
    projection: Any

    def encode(self, texts: Sequence[str]) -> States:
        states = self.read(tuple(texts))
        return states if self.projection is None else states.along(self.projection)
