"""What a harness needs from an encoder, and what encoding costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from slice_os.arrays import FloatArray
from slice_os.encoder.alignment import AlignedText
from slice_os.encoder.span_encoder import SpanEncoder

Representation: TypeAlias = Literal["mean", "start-end", "whole"]


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
        """The name in tables."""
        ...

    @property
    def identity(self) -> str:
        """The key that vectors are cached under; it changes whenever the vectors may."""
        ...

    @property
    def representation(self) -> Representation:
        """How the vector of a span is made from its token vectors.

        ``mean`` is their mean, ``start-end`` puts the first and the last side by side, and
        ``whole`` means that there are only vectors of whole texts.
        """
        ...

    @property
    def spans(self) -> SpanEncoder | None:
        """The encoder that stores and searches take; None if this is of another kind."""
        ...

    @property
    def cost(self) -> Cost:
        """What this encoder has done since it was opened."""
        ...

    def phrases(self, texts: Sequence[str]) -> FloatArray:
        """A vector of each text by itself, made like that of a span; spans are compared to it.

        Returns:
            ``(n_texts, dimension)``, not normalised, zeros for a text without tokens; the
            dimension is twice that of a token vector if spans are ``start-end``.
        """
        ...

    def sentences(self, texts: Sequence[str]) -> FloatArray:
        """A vector of each text by itself, as the model makes that of a sentence.

        If spans are means, it includes special tokens, as in sentence-transformers; otherwise
        it is the same as `phrases`.
        """
        ...

    def tokens(self, texts: Sequence[str]) -> Iterator[tuple[AlignedText, FloatArray]]:
        """Each aligned text with its ``(n_pieces, token_dimension)`` vectors, from one pass.

        Raises:
            InputError: if the representation is ``whole``.
        """
        ...
