"""Encoders under evaluation: any model that gives vectors of texts, behind one protocol."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, TypeVar

import numpy as np

from slice_os.alignment import AlignedText
from slice_os.arrays import FloatArray
from slice_os.encoder import PieceRange, SpanEncoder
from slice_os.errors import InputError
from slice_os.evaluation.encoders.metered import MeteredSpanEncoder
from slice_os.evaluation.encoders.onnx_folder import OnnxSpanEncoder, is_onnx_folder
from slice_os.model import BUNDLED, CARD_FILE, model_folder

Representation: TypeAlias = Literal["mean", "start-end", "whole"]
T = TypeVar("T")

DEFAULT = "default"
FORMS = (
    "a bundled name, a model or ONNX folder, a Hugging Face name or folder, glove:FILE, "
    "start-end:MODEL, truncate-N:MODEL or pcpe:MODEL[:PROMPT]"
)


@dataclass(frozen=True, slots=True)
class Cost:
    """What encoding took.

    Attributes:
        passes: texts, or windows of long ones, that went through the model.
        tokens: word pieces in them, special tokens included.
        seconds: wall-clock time.
    """

    passes: int = 0
    tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.passes + other.passes, self.tokens + other.tokens, self.seconds + other.seconds
        )

    def __sub__(self, other: Cost) -> Cost:
        return Cost(
            self.passes - other.passes, self.tokens - other.tokens, self.seconds - other.seconds
        )


class TextEncoder(Protocol):
    """What a harness needs from an encoder."""

    @property
    def name(self) -> str:
        """For tables."""
        ...

    @property
    def identity(self) -> str:
        """Changes whenever the vectors may; they are cached under it."""
        ...

    @property
    def representation(self) -> Representation:
        """How a span is made of its token vectors.

        Their ``mean``, the first and the last one side by side (``start-end``), or not at all
        (``whole``: there are only vectors of whole texts).
        """
        ...

    @property
    def spans(self) -> SpanEncoder | None:
        """The encoder that stores and searches take; None if it is of another kind."""
        ...

    @property
    def cost(self) -> Cost:
        """What this encoder has done since it was opened."""
        ...

    def phrases(self, texts: Sequence[str]) -> FloatArray:
        """A vector of each text by itself, made as that of a span; what spans are compared to.

        Returns:
            ``(n_texts, dimension)``, not normalised, zeros for a text without any token; the
            dimension is twice that of a token vector where spans are ``start-end``.
        """
        ...

    def sentences(self, texts: Sequence[str]) -> FloatArray:
        """A vector of each text by itself, as the model makes that of a sentence.

        Where spans are means it includes special tokens, as sentence-transformers does; else it
        is the same as `phrases`.
        """
        ...

    def tokens(self, texts: Sequence[str]) -> Iterator[tuple[AlignedText, FloatArray]]:
        """Each text aligned, and its ``(n_pieces, token_dimension)`` vectors, from one pass.

        Raises:
            InputError: if the representation is ``whole``.
        """
        ...


class SpanTextEncoder:
    """A `SpanEncoder` under evaluation.

    Args:
        spans: the encoder.
        name: for tables.
        representation: ``mean``, or ``start-end`` as in DensePhrases (Lee et al. 2021).
    """

    def __init__(
        self,
        spans: MeteredSpanEncoder,
        name: str,
        representation: Representation = "mean",
    ) -> None:
        self._metered = spans
        self.name = name
        self.representation = representation
        self.identity = f"{spans.card.encoder_id}-{representation}"
        self._seconds = 0.0

    @property
    def cost(self) -> Cost:
        """See `TextEncoder.cost`."""
        meter = self._metered.meter
        return Cost(meter.passes, meter.tokens, self._seconds)

    @property
    def spans(self) -> SpanEncoder | None:
        """See `TextEncoder.spans`."""
        return self._metered

    def phrases(self, texts: Sequence[str]) -> FloatArray:
        """See `TextEncoder.phrases`; of ``start-end``, the first and last token of its words."""
        width = self._metered.card.dimension * (2 if self.representation == "start-end" else 1)
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
        vectors = self._metered.sentences(texts)
        self._seconds += time.perf_counter() - start
        return vectors

    def tokens(self, texts: Sequence[str]) -> Iterator[tuple[AlignedText, FloatArray]]:
        """See `TextEncoder.tokens`."""
        aligned = [self._metered.align(text) for text in texts]
        ranges = [PieceRange(one, 0, len(one.piece_ids)) for one in aligned]
        yield from zip(aligned, self._timed(self._metered.encode(ranges)), strict=True)

    def _timed(self, items: Iterable[T]) -> Iterator[T]:
        """The same items; the time that they took to come is added to the cost."""
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


def open_encoder(spec: str | None = None, threads: int | None = None) -> TextEncoder:
    """The encoder that a specification names.

    Args:
        spec: None or ``default`` for the shipped model; a bundled name or a model folder; a
            folder with ``model.onnx`` and ``tokenizer.json``; a Hugging Face name or folder;
            ``glove:FILE`` (text vectors); ``start-end:MODEL`` (spans as in DensePhrases);
            ``truncate-N:MODEL`` (the first N dimensions of an exported model's projection);
            ``pcpe:MODEL[:PROMPT]`` (a causal language model). ``NAME=`` before any of these
            names it in tables.
        threads: CPU threads; all usable cores for None.

    Raises:
        ModelError: if there is no such model, or it cannot be loaded.
        InputError: if a file of vectors is missing.
        MissingExtraError: if the kind of model needs packages that are not installed.
    """
    label, spec = _split_label(spec or DEFAULT)
    kind, colon, rest = spec.partition(":")
    if colon and not rest:
        raise InputError(f"encoder {spec!r}: nothing after the colon; give {FORMS}")
    if colon and kind == "glove":
        from slice_os.evaluation.encoders.word_vectors import GloveEncoder

        return GloveEncoder(Path(rest), label or Path(rest).name)
    if colon and kind == "pcpe":
        from slice_os.evaluation.encoders.causal import open_causal_encoder

        return open_causal_encoder(rest, label)
    if colon and kind == "start-end":
        spans, name = _open_spans(rest, threads)
        return SpanTextEncoder(spans, label or f"start-end:{name}", "start-end")
    projection = re.fullmatch(r"(?:truncate|axes)-(\d+):(.+)", spec)
    if projection:
        from slice_os.evaluation.encoders.truncated import TruncatedEncoder

        spans, name = _open_spans(projection[2], threads)
        return TruncatedEncoder(SpanTextEncoder(spans, label or name), int(projection[1]))
    spans, name = _open_spans(spec, threads)
    return SpanTextEncoder(spans, label or name)


def _open_spans(model: str, threads: int | None) -> tuple[MeteredSpanEncoder, str]:
    if model == DEFAULT or any(
        (Path(base) / model / CARD_FILE).is_file() for base in ("", BUNDLED)
    ):
        folder = model_folder(None if model == DEFAULT else model)
        return MeteredSpanEncoder(folder, threads), folder.resolve().name
    if is_onnx_folder(Path(model)):
        return OnnxSpanEncoder(Path(model), threads), Path(model).resolve().name
    from slice_os.evaluation.encoders.hugging_face import TorchSpanEncoder

    encoder = TorchSpanEncoder(model, threads)
    return encoder, encoder.card.name


def _split_label(spec: str) -> tuple[str | None, str]:
    """``NAME=SPEC`` apart; a path that has the sign itself stays whole."""
    match = re.fullmatch(r"([\w.+-]+)=(.+)", spec)
    return (match[1], match[2]) if match and not Path(spec).exists() else (None, spec)
