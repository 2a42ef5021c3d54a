"""The interface of encoders under evaluation, their cost, and their specification."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from operator import add, sub
from typing import Literal, Protocol, TypeAlias

from slice_os.arrays import FloatArray
from slice_os.encoder.alignment import AlignedText
from slice_os.encoder.span_encoder import SpanEncoder

DEFAULT = "default"

Representation: TypeAlias = Literal["mean", "start-end", "whole"]


@dataclass(frozen=True, slots=True)
class EncoderSpec:
    """``[LABEL=][KIND:]MODEL``, parsed; the kind of a plain model is empty."""

    label: str | None
    kind: str
    model: str
    threads: int | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """Passes of texts, or of windows of long ones, their tokens with special ones, and seconds."""

    passes: int = 0
    tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(*map(add, astuple(self), astuple(other)))

    def __sub__(self, other: Cost) -> Cost:
        return Cost(*map(sub, astuple(self), astuple(other)))


class TextEncoder(Protocol):
    """An encoder as harnesses need it.

    Attributes:
        name: in tables.
        identity: the key that vectors are cached under; it changes whenever the vectors may.
        representation: of a span by token vectors: ``mean`` is their mean, ``start-end`` puts the
            first and the last side by side, and ``whole`` means that there are only vectors of
            whole texts.
        spans: the encoder that stores and searches take; None if this is of another kind.
    """

    name: str
    identity: str
    representation: Representation
    spans: SpanEncoder | None = None

    @property
    def cost(self) -> Cost:
        """The cost of all encoding since the encoder was opened."""

    def phrases(self, texts: Sequence[str]) -> FloatArray:
        """A vector of each text by itself, made like that of a span; spans are compared to it.

        Returns ``(n_texts, dimension)``, not normalised, zeros for a text without tokens; the
        dimension is twice that of a token vector if spans are ``start-end``.
        """

    def sentences(self, texts: Sequence[str]) -> FloatArray:
        """A vector of each text by itself, as the model makes that of a sentence.

        If spans are means, it includes special tokens, as in sentence-transformers; otherwise
        it is the same as `phrases`.
        """
        return self.phrases(texts)

    def tokens(self, texts: Sequence[str]) -> Iterator[tuple[AlignedText, FloatArray]]:
        """Each aligned text with its ``(n_pieces, token_dimension)`` vectors, from one pass.

        Raises an `InputError` if the representation is ``whole``.
        """
