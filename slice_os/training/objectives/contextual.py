"""Contextual objectives: the meaning of a word here, not those that it can have elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar

from slice_os.records import Natural, Positive
from slice_os.text.words import touched_words
from slice_os.training.backend import torch
from slice_os.training.objectives.objective import cosent, own_first
from slice_os.training.record_types import Passage, Sense, Substitution
from slice_os.training.span_tensors import span_vectors, text_vectors
from slice_os.training.teachers import Teacher
from slice_os.training.training_encoder import Student


@dataclass(frozen=True, slots=True)
class Contextual:
    """A word in its sentence is nearer to right substitutes there than to wrong ones.

    Each record gives three sentences: the original, one with a right substitute and one with a
    wrong substitute in the word's place. Cosines are between the words' vectors in these
    sentences. CoSENT ranks every right one of the batch above every wrong one, so that a single
    threshold can separate them; the logistic loss of the difference ranks the two of a sentence.
    """

    scale: Positive = 15.0
    records: ClassVar[tuple[type, ...]] = (Substitution,)

    def __call__(
        self, batch: Sequence[Substitution], student: Student, teacher: Teacher, rng: Random
    ) -> Any:
        placed = [passage for part in substituted(batch, rng) for passage in part]
        original, right, wrong = placed_vectors(student, placed).split(len(batch))
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

    scale: Positive = 20.0
    others: Natural = 2
    records: ClassVar[tuple[type, ...]] = (Sense,)

    def __call__(
        self, batch: Sequence[Sense], student: Student, teacher: Teacher, rng: Random
    ) -> Any:
        words = placed_vectors(student, batch)
        definitions = [record.definition for record in batch]
        for record in batch:
            definitions += rng.sample(record.others, min(self.others, len(record.others)))
        cosines = words @ text_vectors(student.encode(definitions)).T
        return own_first(cosines, self.scale)


def placed_vectors(student: Student, placed: Sequence[Passage | Sense]) -> Any:
    """Unit vectors of the words ``start:end`` of texts, each in its text."""
    spans = [
        (index, *touched_words(student.align(one.text).words, one.start, one.end))
        for index, one in enumerate(placed)
    ]
    return span_vectors(student.encode([one.text for one in placed]), spans)


def substituted(records: Sequence[Substitution], rng: Random) -> Iterator[list[Passage]]:
    """The words in their sentences; then with a right, and with a wrong substitute each."""
    yield [Passage(record.text, record.start, record.end) for record in records]
    for options in ("right", "wrong"):
        yield [substitute(record, rng.choice(getattr(record, options))) for record in records]


def substitute(record: Substitution, phrase: str) -> Passage:
    """The sentence with the phrase in place of the word; a capital stays a capital."""
    if record.text[record.start].isupper():
        phrase = phrase[:1].upper() + phrase[1:]
    text = record.text[: record.start] + phrase + record.text[record.end :]
    return Passage(text, record.start, record.start + len(phrase))
