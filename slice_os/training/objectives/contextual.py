"""Contextual objectives: what a word means here, not what it can mean elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar

from slice_os.text.words import touched_words
from slice_os.training.backend import torch
from slice_os.training.checks import at_least, positive
from slice_os.training.encoding import Student
from slice_os.training.objectives.ranking import contrast, cosent
from slice_os.training.records import Passage, Sense, Substitution
from slice_os.training.spans import span_vectors, text_vectors
from slice_os.training.teachers import Teacher


@dataclass(frozen=True, slots=True)
class Contextual:
    """A word in its sentence is nearer to right substitutes there than to wrong ones.

    Each record gives three sentences: the original, one with a right substitute and one with a
    wrong substitute in the word's place. Cosines are between the words' vectors in these
    sentences. CoSENT ranks every right one of the batch above every wrong one, so that a single
    threshold can separate them; the logistic loss of the difference ranks the two of a sentence.

    Attributes:
        scale: inverse temperature of both.
    """

    scale: float = 15.0

    records: ClassVar[tuple[type, ...]] = (Substitution,)

    def __post_init__(self) -> None:
        positive("scale", self.scale)

    def __call__(
        self,
        batch: Sequence[Substitution],
        student: Student,
        teacher: Teacher,
        rng: Random,
    ) -> Any:
        """The loss of a batch."""
        placed = [Passage(record.text, record.start, record.end) for record in batch]
        for options in ("right", "wrong"):
            placed += [substitute(r, rng.choice(getattr(r, options))) for r in batch]
        states = student.encode([passage.text for passage in placed])
        vectors = span_vectors(
            states,
            [
                (index, *touched_words(student.align(p.text).words, p.start, p.end))
                for index, p in enumerate(placed)
            ],
        )
        original, right, wrong = vectors.split(len(batch))
        near, far = (original * right).sum(dim=1), (original * wrong).sum(dim=1)
        scores = torch.cat([torch.ones(len(batch)), torch.zeros(len(batch))]).to(near.device)
        return (
            cosent(torch.cat([near, far]), scores, self.scale)
            + torch.nn.functional.softplus(self.scale * (far - near)).mean()
        )


@dataclass(frozen=True, slots=True)
class Senses:
    """A word in its sentence is nearest to the definition that it has there.

    The candidates are its own definition, some of its other senses, and the definitions of all
    other words of the batch, each read alone (cross-entropy over cosines).

    Attributes:
        scale: inverse temperature.
        others: number of definitions of other senses, as far as the word has them.
    """

    scale: float = 20.0
    others: int = 2

    records: ClassVar[tuple[type, ...]] = (Sense,)

    def __post_init__(self) -> None:
        positive("scale", self.scale)
        at_least("others", self.others, 0)

    def __call__(
        self, batch: Sequence[Sense], student: Student, teacher: Teacher, rng: Random
    ) -> Any:
        """The loss of a batch."""
        states = student.encode([record.text for record in batch])
        words = span_vectors(
            states,
            [
                (index, *touched_words(student.align(r.text).words, r.start, r.end))
                for index, r in enumerate(batch)
            ],
        )
        definitions = [record.definition for record in batch]
        for record in batch:
            definitions += rng.sample(record.others, min(self.others, len(record.others)))
        cosines = words @ text_vectors(student.encode(definitions)).T
        own = cosines.diagonal()[:, None]
        mask = torch.eye(*cosines.shape, dtype=torch.bool, device=cosines.device)
        return contrast(torch.cat([own, cosines.masked_fill(mask, -torch.inf)], dim=1), self.scale)


def substitute(record: Substitution, phrase: str) -> Passage:
    """The sentence with the phrase in place of the word; a capital stays a capital."""
    if record.text[record.start].isupper():
        phrase = phrase[:1].upper() + phrase[1:]
    text = record.text[: record.start] + phrase + record.text[record.end :]
    return Passage(text, record.start, record.start + len(phrase))
