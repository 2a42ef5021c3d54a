"""What an objective is."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Protocol

from slice_os.training.encoding import Student
from slice_os.training.teachers import Teacher


class Objective(Protocol):
    """A frozen dataclass of its settings, which maps a batch to a loss."""

    @property
    def records(self) -> tuple[type, ...]:
        """The kinds of records it takes."""
        ...

    def __call__(
        self, batch: Sequence[Any], student: Student, teacher: Teacher, rng: Random
    ) -> Any:
        """A scalar to minimise.

        Args:
            batch: records.
            student: the encoder that is trained.
            teacher: what it learns from.
            rng: the source of all that is drawn at random.
        """
        ...
