"""Span mathematics for training: `slice_os.spans.cosines` in torch, batched and differentiable.

With prefix sums C of token vectors, the vector of a span is ``C_j - C_i`` up to its length
(SLICE, section 3.1). Cosines need no span vectors: numerators are differences of the
prefix sums of ``q·t``, and lengths come from two-dimensional prefix sums of the Gram matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from slice_os.training.backend import torch

LONGEST = 20
_TINY = 1e-8


@dataclass(frozen=True, slots=True)
class States:
    """Token vectors of a padded batch of texts, and the words over them.

    Attributes:
        vectors: ``(texts, pieces, dimension)``; special tokens are left out, padding is 0.
        n_pieces: ``(texts,)``.
        first: ``(texts, words)`` first piece of each word; 0 at padding.
        last: ``(texts, words)`` one past its last piece; 0 at padding.
        n_words: ``(texts,)``.
    """

    vectors: Any
    n_pieces: Any
    first: Any
    last: Any
    n_words: Any

    def along(self, projection: Any) -> States:
        """The same with every vector projected by ``(rows, dimension)``."""
        return replace(self, vectors=self.vectors @ projection.T)


def text_vectors(states: States) -> Any:
    """Unit vectors ``(texts, dimension)`` of whole texts: the mean of all their pieces."""
    return torch.nn.functional.normalize(states.vectors.sum(dim=1), dim=-1)


def span_vectors(states: States, spans: Sequence[tuple[int, int, int]]) -> Any:
    """Unit vectors ``(spans, dimension)`` of spans: text, first word, one past the last word."""
    text, begin, end = torch.tensor(spans, device=states.vectors.device).T
    sums = torch.nn.functional.pad(states.vectors.double().cumsum(dim=1), (0, 0, 1, 0))
    totals = sums[text, states.last[text, end - 1]] - sums[text, states.first[text, begin]]
    return torch.nn.functional.normalize(totals, dim=-1).to(states.vectors.dtype)


def span_cosines(states: States, queries: Any, max_words: int, min_words: int = 1) -> Any:
    """Cosines of unit query vectors with every span of their texts.

    Queries are ``(texts, queries, dimension)``, or ``(1, queries, dimension)`` for all texts.

    Returns:
        ``(texts, queries, words, max_words - min_words + 1)``; ``-inf`` where a text is too
        short for a span. Memory grows with the square of the pieces, not with the dimension.
    """
    products = (queries.to(states.vectors.dtype) @ states.vectors.transpose(1, 2)).double()
    sums = torch.nn.functional.pad(products.cumsum(dim=2), (1, 0))
    gram = (states.vectors @ states.vectors.transpose(1, 2)).double()
    blocks = torch.nn.functional.pad(gram.cumsum(dim=1).cumsum(dim=2), (1, 0, 1, 0))

    n_words = states.first.shape[1]
    device = states.vectors.device
    lengths = torch.arange(min_words - 1, max_words, device=device)
    ends = torch.arange(n_words, device=device)[:, None] + lengths
    fits = ends < states.n_words[:, None, None]
    last = states.last[:, ends.clamp(max=n_words - 1)]
    first = states.first[:, :, None].expand_as(last)

    text = torch.arange(len(first), device=device)[:, None, None]
    squares = blocks[text, last, last] - 2 * blocks[text, first, last] + blocks[text, first, first]
    norms = squares.clamp(min=_TINY).sqrt()[:, None]
    flat = (len(first), sums.shape[1], last[0].numel())
    ends_at, starts_at = (edge.flatten(1)[:, None].expand(flat) for edge in (last, first))
    numerators = sums.gather(2, ends_at) - sums.gather(2, starts_at)
    cosines = numerators.view(*flat[:2], *last.shape[1:]) / norms
    return cosines.masked_fill(~fits[:, None], -torch.inf).to(states.vectors.dtype)


def best_cosines(states: States, queries: Any, max_words: int, min_words: int = 1) -> Any:
    """The maximum of `span_cosines` over the spans: ``(texts, queries)``.

    This is sim(phrase, context) of SLICE, section 3.2, before it is scaled.
    """
    return span_cosines(states, queries, max_words, min_words).flatten(2).amax(dim=2)


def sample_span(
    words: int, rng: Random, shortest: int = 1, longest: int = LONGEST
) -> tuple[int, int]:
    """First word and one past the last of a random span; all lengths are equally likely."""
    length = rng.randint(min(shortest, words), min(longest, words))
    begin = rng.randrange(words - length + 1)
    return begin, begin + length


def phrase(text: str, words: Any, begin: int, end: int) -> str:
    """The text of a span of words, given the offsets of all words."""
    return text[int(words[begin, 0]) : int(words[end - 1, 1])]
