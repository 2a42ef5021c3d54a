"""Models of token vectors under evaluation."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.encoder.alignment import AlignedText
from slice_os.encoder.model_folder import BUNDLED, CARD_FILE, model_folder
from slice_os.encoder.span_encoder import PieceRange, SpanEncoder
from slice_os.encoder.token_model import TokenModel, load_model
from slice_os.evaluation.encoders.base import Cost, Representation
from slice_os.evaluation.encoders.meter import MeteredEngine
from slice_os.evaluation.encoders.onnx_model import is_onnx_folder, load_onnx_folder
from slice_os.evaluation.encoders.sentence_vectors import sentence_vectors
from slice_os.evaluation.encoders.spec import DEFAULT, EncoderSpec

T = TypeVar("T")


class SpanTextEncoder:
    """A `TokenModel` under evaluation.

    Args:
        model: the model; its passes are counted.
        name: the name in tables.
        representation: ``mean``, or ``start-end`` as in DensePhrases (Lee et al. 2021).

    Attributes:
        spans: the same model, as stores and searches take it.
    """

    def __init__(
        self, model: TokenModel, name: str, representation: Representation = "mean"
    ) -> None:
        self._meter = MeteredEngine(model.engine)
        self._model = replace(model, engine=self._meter)
        self._seconds = 0.0
        self.spans = SpanEncoder(self._model)
        self.name = name
        self.representation = representation
        self.identity = f"{model.card.encoder_id}-{representation}"

    @property
    def cost(self) -> Cost:
        """See `TextEncoder.cost`."""
        return Cost(self._meter.passes, self._meter.tokens, self._seconds)

    def phrases(self, texts: Sequence[str]) -> FloatArray:
        """See `TextEncoder.phrases`; for ``start-end``, the first and last token of its words."""
        width = self._model.card.dimension * (2 if self.representation == "start-end" else 1)
        vectors = np.zeros((len(texts), width), dtype=np.float32)
        for row, (aligned, pieces) in enumerate(self.tokens(texts)):
            if self.representation == "start-end" and len(aligned.words):
                first, last = aligned.words[0, 2], aligned.words[-1, 3] - 1
                vectors[row] = np.concatenate([pieces[first], pieces[last]])
            elif self.representation == "mean" and len(pieces):
                vectors[row] = pieces.mean(axis=0)
        return vectors

    def sentences(self, texts: Sequence[str]) -> FloatArray:
        """See `TextEncoder.sentences`."""
        if self.representation == "start-end":
            return self.phrases(texts)
        start = time.perf_counter()
        vectors = sentence_vectors(self._model, texts)
        self._seconds += time.perf_counter() - start
        return vectors

    def tokens(self, texts: Sequence[str]) -> Iterator[tuple[AlignedText, FloatArray]]:
        """See `TextEncoder.tokens`."""
        aligned = [self.spans.align(text) for text in texts]
        ranges = [PieceRange(one, 0, len(one.piece_ids)) for one in aligned]
        yield from zip(aligned, self._timed(self.spans.encode_ranges(ranges)), strict=True)

    def _timed(self, items: Iterable[T]) -> Iterator[T]:
        """The same items; the time that they take to arrive is added to the cost."""
        iterator = iter(items)
        while True:
            start = time.perf_counter()
            try:
                item = next(iterator)
            except StopIteration:
                return
            finally:
                self._seconds += time.perf_counter() - start
            yield item


def open_mean(spec: EncoderSpec) -> SpanTextEncoder:
    """Open a plain model: the vector of a span is the mean of its token vectors."""
    model, name = _load(spec)
    return SpanTextEncoder(model, spec.label or name)


def open_start_end(spec: EncoderSpec) -> SpanTextEncoder:
    """Open ``start-end:MODEL``: the first and last token vector of a span, side by side."""
    model, name = _load(spec)
    return SpanTextEncoder(model, spec.label or f"start-end:{name}", "start-end")


def _load(spec: EncoderSpec) -> tuple[TokenModel, str]:
    """A model folder, an ONNX folder or a Hugging Face model, and its name."""
    path = Path(spec.model)
    if spec.model == DEFAULT or any(
        (base / spec.model / CARD_FILE).is_file() for base in (Path(), BUNDLED)
    ):
        folder = model_folder(None if spec.model == DEFAULT else spec.model)
        return load_model(folder, threads=spec.threads), folder.resolve().name
    if is_onnx_folder(path):
        model = load_onnx_folder(path, spec.threads)
    else:
        from slice_os.evaluation.encoders.torch_model import load_torch_model

        model = load_torch_model(spec.model, spec.threads)
    return model, model.card.name
