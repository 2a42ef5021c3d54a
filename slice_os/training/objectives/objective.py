"""The interface of objectives."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, Protocol

from slice_os.training.teachers import Teacher
from slice_os.training.training_encoder import Student


class Objective(Protocol):
    """A frozen dataclass of settings that maps a batch to a loss."""

    @property
    def records(self) -> tuple[type, ...]:
        """The types of records that it takes."""
        ...

    def __call__(
        self, batch: Sequence[Any], student: Student, teacher: Teacher, rng: Random
    ) -> Any:
        """A scalar to minimise."""
        ...
