"""Teachers of students: a frozen encoder, or two of them as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any, Protocol

from slice_os.encoder.token_model import principal_projection
from slice_os.training.backend import torch
from slice_os.training.span_tensors import phrase, sample_span, text_vectors
from slice_os.training.training_encoder import TrainingEncoder

_PHRASES = 4000


class Teacher(Protocol):
    """Vectors of phrases read alone, and the projection onto their principal directions."""

    @property
    def projection(self) -> Any:
        """``(dimension, dimension)`` orthonormal, one direction a row, by decreasing spread."""

    def vectors(self, texts: Sequence[str]) -> Any:
        """Unit vectors ``(texts, dimension)``, without gradients."""


@dataclass(frozen=True)
class OneTeacher:
    """A frozen encoder, with phrases to find the projection."""

    encoder: TrainingEncoder
    phrases: Sequence[str]

    @cached_property
    def projection(self) -> Any:
        return principal_directions(self.vectors(self.phrases))

    def vectors(self, texts: Sequence[str]) -> Any:
        return _read(self.encoder, texts)


class TwoTeachers:
    """Two frozen encoders as one: their cosines are mixed, the dimension is that of the first.

    The mean over ``phrases``, or a share of it, is subtracted from an encoder's vectors, since many
    encoders have all their vectors in one narrow cone. Both are concatenated, the
    second times √weight, so that the cosine is the weighted mean of both. That space is projected
    onto as many principal directions as the first encoder has dimensions, and rotated to be as
    near to its vectors as possible (orthogonal Procrustes; Schönemann, 1966). A student that
    starts as the first encoder then has the shortest way to go. The phrases are some of the kind
    that will be taught; ``centres`` are the shares of both means, 0 to 1.
    """

    def __init__(
        self,
        first: TrainingEncoder,
        second: TrainingEncoder,
        *,
        weight: float,
        centres: tuple[float, float],
        phrases: Sequence[str],
    ) -> None:
        self._encoders = first, second
        self._scale = weight**0.5
        own, other = _read(first, phrases), _read(second, phrases)
        self._means = centres[0] * own.mean(dim=0), centres[1] * other.mean(dim=0)
        both = self._joined(own, other)
        kept = principal_directions(both)[: own.shape[1]].T
        left, _, right = torch.linalg.svd((both @ kept).T @ own)
        self._turn = kept @ left @ right
        self.projection = principal_directions(both @ self._turn)

    def vectors(self, texts: Sequence[str]) -> Any:
        first, second = self._encoders
        joined = self._joined(_read(first, texts), _read(second, texts))
        return torch.nn.functional.normalize(joined @ self._turn, dim=-1)

    def _joined(self, own: Any, other: Any) -> Any:
        own = torch.nn.functional.normalize(own - self._means[0], dim=-1)
        other = torch.nn.functional.normalize(other - self._means[1], dim=-1) * self._scale
        return torch.nn.functional.normalize(torch.cat([own, other], dim=1), dim=-1)


def principal_directions(vectors: Any) -> Any:
    """`slice_os.encoder.token_model.principal_projection` for tensors."""
    return torch.from_numpy(principal_projection(vectors.double().cpu().numpy())).to(vectors)


def sample_phrases(texts: Sequence[str], encoder: TrainingEncoder, seed: str) -> list[str]:
    """Spans of 1 to 20 words of texts; all lengths are equally likely."""
    rng = Random(seed)  # noqa: S311
    phrases = []
    for _ in range(_PHRASES):
        text = rng.choice(texts)
        words = encoder.align(text).words
        phrases.append(phrase(text, words, *sample_span(len(words), rng)))
    return phrases


def _read(encoder: TrainingEncoder, texts: Sequence[str]) -> Any:
    with torch.no_grad():
        return text_vectors(encoder.encode(texts))
