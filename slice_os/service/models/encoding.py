"""Requests and answers of encoding."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from slice_os.service.models.base import WHOLE, Body, Text
from slice_os.service.settings import MOST_TEXTS

Offset = Annotated[int, Field(ge=0), WHOLE]
Span = Annotated[list[Offset], Field(min_length=2, max_length=2)]


class TextBody(Body):
    """A text, and which vectors of it are wanted.

    Attributes:
        text: the text.
        spans: start and end of each, in code points; words that a span touches belong to it.
        tokens: whether the vectors of all word pieces are wanted.
    """

    text: str
    spans: Annotated[list[Span], Field(max_length=MOST_TEXTS)] = Field(default_factory=list)
    tokens: bool = False


class EncodeRequest(Body):
    """What is to be encoded.

    Attributes:
        phrases: each gets a unit vector.
        texts: whose spans and word pieces get vectors.
    """

    phrases: Annotated[list[Text], Field(max_length=MOST_TEXTS)] = Field(default_factory=list)
    texts: Annotated[list[TextBody], Field(max_length=MOST_TEXTS)] = Field(default_factory=list)


class TokenAnswer(BaseModel):
    """A word piece: code points ``start:end`` of its word, and its vector."""

    start: int
    end: int
    vector: list[float]


class TextAnswer(BaseModel):
    """The vectors of a text.

    Attributes:
        spans: unit vectors, in the order of the request.
        tokens: of all words in order; none unless they were wanted. The mean over the word pieces
            of a span, normalised, is the span's vector.
    """

    spans: list[list[float]]
    tokens: list[TokenAnswer]


class EncodeAnswer(BaseModel):
    """Vectors.

    Attributes:
        dimensions: length of each.
        encoder: id of the encoder; vectors of different encoders cannot be compared.
        phrases: unit vectors, in the order of the request.
        texts: in the order of the request.
    """

    dimensions: int
    encoder: str
    phrases: list[list[float]]
    texts: list[TextAnswer]
