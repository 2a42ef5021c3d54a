"""Vectors of phrases, spans and word pieces, for programs that have no encoder."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import InputError
from slice_os.service.asgi.steps import until_stopped
from slice_os.service.resources.bodies import WHOLE, Body, Many, Resource, Text
from slice_os.service.services import Shared
from slice_os.service.settings import MOST_TEXTS

MOST_VECTORS = 50_000

router = Resource("encode")

Offset = Annotated[int, Field(ge=0), WHOLE]
Span = Annotated[Many[Offset], Field(min_length=2, max_length=2)]


class TextBody(Body):
    """A text to encode.

    Attributes:
        text: the text.
        spans: start and end of each, in code points; words that a span touches belong to it.
        tokens: whether to return the vectors of all word pieces.
    """

    text: str
    spans: Annotated[Many[Span], Field(max_length=MOST_TEXTS)] = Field(default_factory=list)
    tokens: bool = False


class EncodeRequest(Body):
    """Phrases and texts to encode.

    Attributes:
        phrases: each gets a unit vector.
        texts: their spans and word pieces get vectors.
    """

    phrases: Annotated[Many[Text], Field(max_length=MOST_TEXTS)] = Field(default_factory=list)
    texts: Annotated[Many[TextBody], Field(max_length=MOST_TEXTS)] = Field(default_factory=list)


class TokenAnswer(BaseModel):
    """A word piece: code points ``start:end`` of its word, and its vector."""

    start: int
    end: int
    vector: list[float]


class TextAnswer(BaseModel):
    """The vectors of a text.

    Attributes:
        spans: unit vectors, in the order of the request.
        tokens: of all words in order; empty unless requested. The mean over the word pieces of a
            span, normalised, is the span's vector.
    """

    spans: list[list[float]]
    tokens: list[TokenAnswer]


class EncodeAnswer(BaseModel):
    """Vectors, in the order of the request.

    Attributes:
        dimensions: length of each.
        encoder: id of the encoder; vectors of different encoders cannot be compared.
        phrases: unit vectors.
        texts: vectors of their spans and word pieces.
    """

    dimensions: int
    encoder: str
    phrases: list[list[float]]
    texts: list[TextAnswer]


@router.post("/encode", response_model=EncodeAnswer)
def encode(services: Shared, body: EncodeRequest) -> dict[str, Any]:
    """Encode phrases, and the spans and word pieces of texts."""
    encoder = services.encoders.default()
    left = MOST_VECTORS - len(body.phrases)

    def encoded(one: TextBody) -> dict[str, Any]:
        nonlocal left
        tokens = _tokens(encoder, one.text) if one.tokens else []
        left -= len(one.spans) + len(tokens)
        if left < 0:
            raise InputError(f"more than {MOST_VECTORS:,} vectors; send fewer or shorter texts")
        spans = encoder.encode_spans(one.text, [(start, end) for start, end in one.spans])
        return {"spans": spans, "tokens": tokens}

    return {
        "dimensions": encoder.card.dimension,
        "encoder": encoder.card.encoder_id,
        "phrases": encoder.encode_phrases(body.phrases),
        "texts": [encoded(one) for one in until_stopped(body.texts)],
    }


def _tokens(encoder: SpanEncoder, text: str) -> list[dict[str, Any]]:
    aligned, vectors = encoder.encode_text(text)
    return [
        {"start": start, "end": end, "vector": vectors[piece]}
        for start, end, first, last in aligned.words.tolist()
        for piece in range(first, last)
    ]
