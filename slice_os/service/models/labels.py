"""Labels in requests and answers."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from slice_os.hits.hit import Context
from slice_os.service.models.base import WHOLE, Body
from slice_os.service.models.topics import Filled, Name

Offset = Annotated[int, Field(ge=0, lt=2**53), WHOLE]
MOST_LABELS = 1_000


class LabelledWords(Body):
    """Words that a label is about.

    Attributes:
        topic: name of the topic.
        doc_id: their document; empty if they come from nowhere.
        start: first code point in the document.
        end: one past the last; by default the length of the text.
        text: the words.
    """

    topic: Name
    doc_id: str = ""
    start: Offset = 0
    end: Offset | None = None
    text: Filled


class Passage(Body):
    """The passage around some words: code points ``start:end`` of the document.

    Attributes:
        start: first code point.
        end: one past the last.
        text: of the passage.
    """

    start: Offset
    end: Offset
    text: str


class LabelBody(LabelledWords):
    """Whether some words are a hit of a topic.

    Attributes:
        label: whether they are.
        passage: around them; they are then understood in it.
    """

    label: bool
    passage: Passage | None = None


class NewLabels(Body):
    """Labels to add.

    Attributes:
        labels: in the order in which they were given.
    """

    labels: Annotated[list[LabelBody], Field(max_length=MOST_LABELS)]


class Added(BaseModel):
    """How many were added.

    Attributes:
        added: number of them.
    """

    added: int


class LabelAnswer(BaseModel):
    """A label that counts.

    Attributes:
        number: of its line in the file of labels; a later answer has a higher one.
        topic: name of the topic.
        doc_id: the document; empty if the words come from nowhere.
        start: first code point in the document.
        end: one past the last.
        text: the words.
        label: whether they are a hit.
        passage: around them, if it is known.
    """

    number: int
    topic: str
    doc_id: str
    start: int
    end: int
    text: str
    label: bool
    passage: Context | None = None


class LabelList(BaseModel):
    """Labels in the order in which they were given.

    Attributes:
        labels: some of them.
        next: value of ``after`` for the next ones; null if there are no more.
    """

    labels: list[LabelAnswer]
    next: int | None
