"""Graded similarity of a phrase with the best span of a passage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar

from slice_os.training.backend import torch
from slice_os.training.objectives.objective import cosent
from slice_os.training.record_types import Pair
from slice_os.training.settings import Count, NotNegative, Positive, Settings
from slice_os.training.span_tensors import best_cosines, text_vectors
from slice_os.training.teachers import Teacher
from slice_os.training.training_encoder import Student


@dataclass(frozen=True, slots=True)
class GradedSpans(Settings):
    """The best span of a passage is as near to a phrase as it should be.

    A passage's score is the maximum over its spans (SLICE, section 3.2). Some of many spans are
    near by chance, so the maximum is above the similarity of the two phrases. Two terms correct
    that: CoSENT ranks it by score; ``regression`` moves it to a mix of the score and the teacher's
    cosine of the two phrases alone.

    Attributes:
        scale: inverse temperature of CoSENT.
        ranking: weight of CoSENT.
        regression: weight of the mean squared error of a phrase and its own passage.
        score_share: share of the score in that mix, 0 to 1.
        max_words: longest span.
    """

    scale: Positive = 20.0
    ranking: NotNegative = 1.0
    regression: NotNegative = 0.0
    score_share: NotNegative = 0.0
    max_words: Count = 20
    records: ClassVar[tuple[type, ...]] = (Pair,)

    def __call__(
        self, batch: Sequence[Pair], student: Student, teacher: Teacher, rng: Random
    ) -> Any:
        phrases = text_vectors(student.encode([pair.first for pair in batch]))
        passages = student.encode([pair.passage.text for pair in batch])
        first = teacher.vectors([pair.first for pair in batch])
        second = teacher.vectors([pair.second for pair in batch])
        own = best_cosines(passages, phrases[:, None], self.max_words)[:, 0]
        scores = torch.tensor([pair.score for pair in batch], dtype=own.dtype, device=own.device)
        wanted = torch.lerp((second @ first.T).diagonal().float(), scores, self.score_share)
        ranked = cosent(own, scores, self.scale)
        return self.ranking * ranked + self.regression * (own - wanted).square().mean()
