"""Vectors of phrases, spans and word pieces, for programs that have no encoder."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.service.json_answers import JsonAnswer
from slice_os.service.models.encoding import EncodeAnswer, EncodeRequest, TextBody
from slice_os.service.services import Services, Shared
from slice_os.service.stopping import until_stopped

router = APIRouter(tags=["encode"])


@router.post("/encode", response_model=EncodeAnswer)
async def encode(services: Shared, body: EncodeRequest) -> JsonAnswer:
    """The vectors of phrases, and of spans and word pieces in their texts."""
    return JsonAnswer(await services.pool.run(lambda: _encoded(services, body)))


def _encoded(services: Services, body: EncodeRequest) -> dict[str, Any]:
    encoder = services.encoders.default()
    return {
        "dimensions": encoder.card.dimension,
        "encoder": encoder.card.encoder_id,
        "phrases": encoder.encode_phrases(body.phrases),
        "texts": [_text(encoder, text) for text in until_stopped(body.texts)],
    }


def _text(encoder: SpanEncoder, body: TextBody) -> dict[str, Any]:
    return {
        "spans": encoder.encode_spans(body.text, [(start, end) for start, end in body.spans]),
        "tokens": _tokens(encoder, body.text) if body.tokens else [],
    }


def _tokens(encoder: SpanEncoder, text: str) -> list[dict[str, Any]]:
    aligned, vectors = encoder.encode_text(text)
    return [
        {"start": start, "end": end, "vector": vectors[piece]}
        for start, end, first, last in aligned.words.tolist()
        for piece in range(first, last)
    ]
