"""Span distillation: a span in its context learns the vector of the span alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar

from slice_os.records import Count, Natural, NotNegative, at_least
from slice_os.text.words import touched_words
from slice_os.training.record_types import Pair, Passage
from slice_os.training.span_tensors import phrase, sample_span, span_vectors, text_vectors
from slice_os.training.teachers import Teacher
from slice_os.training.training_encoder import Student


@dataclass(frozen=True, slots=True)
class SpanDistillation:
    """The mean of a span's token vectors in context ← a frozen teacher's vector of the span alone.

    Three terms: 1 - cos to the teacher's vector; the mean squared difference between the
    student's and the teacher's matrix of cosines; and both again for phrases that the student
    reads alone, as it will read queries. It needs no labels. Of pairs, it takes the passage.

    Attributes:
        spans: number of spans sampled from each text; a placed phrase is one of them.
        min_words: shortest span; shorter ones keep more of their context.
        max_words: longest span.
        matrix: weight of the matrix term.
        isolated: number of phrases of a batch that the student reads alone.
        isolated_weight: weight of their terms.
    """

    spans: Count = 12
    min_words: Count = 1
    max_words: int = 20
    matrix: NotNegative = 10.0
    isolated: Natural = 24
    isolated_weight: NotNegative = 0.5
    records: ClassVar[tuple[type, ...]] = (Passage, Pair)

    def __post_init__(self) -> None:
        at_least(self.min_words).check("max_words", self.max_words)

    def __call__(
        self, batch: Sequence[Passage | Pair], student: Student, teacher: Teacher, rng: Random
    ) -> Any:
        passages = [record.passage if isinstance(record, Pair) else record for record in batch]
        spans = [
            (index, *span)
            for index, passage in enumerate(passages)
            for span in self._sample(passage, student, rng)
        ]
        texts = [passage.text for passage in passages]
        phrases = [
            phrase(texts[index], student.align(texts[index]).words, begin, end)
            for index, begin, end in spans
        ]
        target = teacher.vectors(phrases)
        in_context = span_vectors(student.encode(texts), spans)
        loss = _direct(in_context, target) + self.matrix * _matrices(
            in_context, in_context, target, target
        )
        chosen = rng.sample(range(len(phrases)), min(self.isolated, len(phrases)))
        if chosen and self.isolated_weight:
            alone = text_vectors(student.encode([phrases[index] for index in chosen]))
            loss = loss + self.isolated_weight * (
                _direct(alone, target[chosen])
                + self.matrix * _matrices(alone, in_context, target[chosen], target)
            )
        return loss

    def _sample(self, passage: Passage, student: Student, rng: Random) -> list[tuple[int, int]]:
        """Words ``begin, end`` of different spans of a passage."""
        words = student.align(passage.text).words
        chosen: dict[tuple[int, int], None] = {}
        if passage.end > passage.start:
            chosen[touched_words(words, passage.start, passage.end)] = None
        for _ in range(3 * self.spans):
            if len(chosen) >= self.spans:
                break
            chosen[sample_span(len(words), rng, self.min_words, self.max_words)] = None
        return list(chosen)


def _direct(student: Any, teacher: Any) -> Any:
    """0 if only the student's vectors are shortened: there is no cosine then."""
    if student.shape[1] != teacher.shape[1]:
        return 0.0
    return 1 - (student * teacher).sum(dim=1).mean()


def _matrices(left: Any, right: Any, teacher_left: Any, teacher_right: Any) -> Any:
    return (left @ right.T - teacher_left @ teacher_right.T).square().mean()
