"""The loss of SLICE, a variant with more negatives, and graded similarity of the best span."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar

from slice_os.records import Count, Natural, NotNegative, Positive, at_least
from slice_os.training.backend import torch
from slice_os.training.objectives.objective import contrast, cosent, own_first
from slice_os.training.record_types import Pair, Triple
from slice_os.training.span_tensors import best_cosines, text_vectors
from slice_os.training.teachers import Teacher
from slice_os.training.training_encoder import Student


@dataclass(frozen=True, slots=True)
class SliceLoss:
    """SLICE, section 3.2: L = -λ·sim_true + log(e^{λ·sim_true} + e^{λ·sim_false}).

    sim is the cosine of the query and the best of all spans of a..b words, scaled to [0, 1].
    Only the first negative of a triple counts.

    Attributes:
        scale: λ.
        min_words: a.
        max_words: b; the paper has 10 in training, 20 in evaluation.
    """

    scale: Positive = 30.0
    min_words: Count = 1
    max_words: int = 10
    records: ClassVar[tuple[type, ...]] = (Triple,)

    def __post_init__(self) -> None:
        at_least(self.min_words).check("max_words", self.max_words)

    def __call__(
        self, batch: Sequence[Triple], student: Student, teacher: Teacher, rng: Random
    ) -> Any:
        queries = text_vectors(student.encode([triple.query for triple in batch]))
        passages = [triple.positive for triple in batch] + [t.negatives[0] for t in batch]
        cosines = best_cosines(
            student.encode(passages),
            torch.cat([queries, queries])[:, None],
            self.max_words,
            self.min_words,
        )[:, 0]
        similarities = (1 + cosines.view(2, -1).T) / 2
        return contrast(similarities, self.scale)


@dataclass(frozen=True, slots=True)
class InBatchLoss(SliceLoss):
    """`SliceLoss` against several negatives of a triple and all passages of the other triples.

    Triples with the same query are not negatives of each other.

    Attributes:
        negatives: number of hard negatives of a triple to use, as far as it has them.
    """

    negatives: Natural = 1

    def __call__(
        self, batch: Sequence[Triple], student: Student, teacher: Teacher, rng: Random
    ) -> Any:
        texts = [triple.query for triple in batch]
        queries = text_vectors(student.encode(texts))
        passages = [triple.positive for triple in batch]
        for triple in batch:
            count = min(self.negatives, len(triple.negatives))
            passages += rng.sample(triple.negatives, count)
        cosines = best_cosines(
            student.encode(passages), queries[None], self.max_words, self.min_words
        ).T
        answers = torch.zeros(cosines.shape, dtype=torch.bool, device=cosines.device)
        answers[:, : len(texts)] = torch.tensor([[a == b for b in texts] for a in texts])
        return own_first((1 + cosines) / 2, self.scale, answers)


@dataclass(frozen=True, slots=True)
class GradedSpans:
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
