"""Axes for short vectors: those along which cosines of queries with spans are kept best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from slice_os.training.backend import torch
from slice_os.training.encoding import TrainingEncoder
from slice_os.training.records import Pair, Record, Triple
from slice_os.training.sampling import LONGEST, phrase, sample_span
from slice_os.training.spans import span_cosines, span_vectors, text_vectors
from slice_os.training.teachers import principal_directions

_TEXTS = 40
_OTHERS = 4
_STEPS = 600
_BATCH = 256
_LEARNING_RATE = 1e-3
_BEST_WEIGHT = 4.0


@dataclass(frozen=True, slots=True)
class QuerySpans:
    """Queries, each with spans of one text, as unit vectors.

    Attributes:
        queries: ``(n, dimension)``.
        best: ``(n, dimension)`` the nearest span of up to 20 words.
        others: ``(n, spans, dimension)`` spans drawn at random.
    """

    queries: Any
    best: Any
    others: Any


def learned_projection(encoder: TrainingEncoder, records: Sequence[Record], seed: str) -> Any:
    """An orthonormal basis, of which the first sixth, third, half and two thirds keep cosines best.

    Principal axes keep as much as can be of the cosines of all vectors with each other; what is
    searched for are those of queries with the nearest spans. From the principal axes of spans
    on, those cosines at each of these numbers of axes are held to the ones at all of them by
    gradient descent, the axes made orthonormal by a QR decomposition at each step. The axes after
    these are the principal ones of what is left.

    Args:
        encoder: what reads queries and texts.
        records: what is asked: of pairs and triples their first text, of others a phrase drawn
            from the text.
        seed: of all that is drawn at random.

    Returns:
        ``(dimension, dimension)``, an axis a row.
    """
    rng = Random(seed)  # noqa: S311
    with torch.no_grad():
        asked = _ask(encoder, [_query_and_text(record, encoder, rng) for record in records], rng)
    spans = asked.others.flatten(0, 1)
    dimension = spans.shape[1]
    kept = [-(-dimension * sixths // 6) for sixths in (1, 2, 3, 4)]
    projection = _descend(asked, kept, principal_directions(spans)[: kept[-1]], rng)
    rest = principal_directions(spans - (spans @ projection.T) @ projection)[: dimension - kept[-1]]
    return _orthonormal(torch.cat([projection, rest]))


def _descend(asked: QuerySpans, kept: Sequence[int], start: Any, rng: Random) -> Any:
    basis = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([basis], lr=_LEARNING_RATE)
    count = len(asked.queries)
    for step in range(_STEPS):
        optimizer.param_groups[0]["lr"] = _LEARNING_RATE * (1 - step / _STEPS)
        rows = rng.sample(range(count), min(_BATCH, count))
        batch = QuerySpans(asked.queries[rows], asked.best[rows], asked.others[rows])
        loss = _loss(batch, _orthonormal(basis), kept)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return _orthonormal(basis.detach())


def _loss(asked: QuerySpans, projection: Any, kept: Sequence[int]) -> Any:
    """Squared differences of cosines: each query's best span, and all spans of the batch."""
    spans = torch.cat([asked.best, asked.others.flatten(0, 1)])
    whole = asked.queries @ spans.T
    short_queries, short_spans = asked.queries @ projection.T, spans @ projection.T
    losses = []
    for count in kept:
        queries = torch.nn.functional.normalize(short_queries[:, :count], dim=1)
        cosines = queries @ torch.nn.functional.normalize(short_spans[:, :count], dim=1).T
        errors = (cosines - whole).square()
        losses.append(errors.mean() + _BEST_WEIGHT * errors.diagonal().mean())
    return sum(losses)


def _orthonormal(rows: Any) -> Any:
    """The same nested subspaces, each spanned by orthonormal rows."""
    return torch.linalg.qr(rows.T)[0].T


def _ask(encoder: TrainingEncoder, pairs: Sequence[tuple[str, str]], rng: Random) -> QuerySpans:
    parts = []
    for begin in range(0, len(pairs), _TEXTS):
        queries, texts = zip(*pairs[begin : begin + _TEXTS], strict=True)
        asked = text_vectors(encoder.encode(queries))
        states = encoder.encode(texts)
        cosines = span_cosines(states, asked[:, None], LONGEST)[:, 0]
        lengths = cosines.shape[2]
        nearest = cosines.flatten(1).argmax(dim=1).tolist()
        best = [
            (text, place // lengths, place // lengths + place % lengths + 1)
            for text, place in enumerate(nearest)
        ]
        others = [
            (text, *sample_span(int(count), rng))
            for text, count in enumerate(states.n_words)
            for _ in range(_OTHERS)
        ]
        parts.append((asked, span_vectors(states, best), span_vectors(states, others)))
    queries, best, others = (torch.cat(column) for column in zip(*parts, strict=True))
    return QuerySpans(queries, best, others.view(len(queries), _OTHERS, -1))


def _query_and_text(record: Record, encoder: TrainingEncoder, rng: Random) -> tuple[str, str]:
    if isinstance(record, Pair):
        return record.first, record.passage.text
    if isinstance(record, Triple):
        return record.query, record.positive
    words = encoder.align(record.text).words
    return phrase(record.text, words, *sample_span(len(words), rng)), record.text
