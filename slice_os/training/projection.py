"""The projection for short vectors: it keeps cosines of queries with their best spans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from slice_os.training import span_tensors
from slice_os.training.backend import torch
from slice_os.training.record_types import Pair, Record, Triple
from slice_os.training.span_tensors import LONGEST, sample_span, span_vectors, text_vectors
from slice_os.training.teachers import principal_directions
from slice_os.training.training_encoder import TrainingEncoder

RECORDS = 6000
STEPS = 600

_TEXTS = 40
_OTHERS = 4
_BATCH = 256
_LEARNING_RATE = 1e-3
_BEST_WEIGHT = 4.0


def learned_projection(
    encoder: TrainingEncoder,
    records: Sequence[Record],
    seed: str,
    steps: int = STEPS,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Any:
    """An orthonormal basis whose first sixth, third, half and two thirds keep cosines best.

    Principal directions keep, as far as possible, the cosines of all vectors with each other.
    What a search needs are those of queries with the nearest spans. Gradient descent starts from
    the principal directions of spans and holds the cosines at each of these lengths to the
    cosines at full length; a QR decomposition keeps the basis orthonormal at each step. The
    remaining rows are the principal directions of what is left.

    Of pairs and triples the first text is the query, of other records a phrase sampled from the
    text; `RECORDS` are plenty. Progress counts records read and steps taken. The result is
    ``(dimension, dimension)``, a direction a row.
    """
    rng = Random(seed)  # noqa: S311

    def tell(done: int) -> None:
        progress(done, len(records) + steps)

    with torch.no_grad():
        pairs = [_query_and_text(record, encoder, rng) for record in records]
        queries, best, others = _search(encoder, pairs, rng, tell)
    spans = others.flatten(0, 1)
    dimension = spans.shape[1]
    kept = [-(-dimension * sixths // 6) for sixths in (1, 2, 3, 4)]
    basis = principal_directions(spans)[: kept[-1]].clone().requires_grad_()
    optimizer = torch.optim.Adam([basis], lr=_LEARNING_RATE)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = _LEARNING_RATE * (1 - step / steps)
        rows = rng.sample(range(len(queries)), min(_BATCH, len(queries)))
        loss = _loss(queries[rows], best[rows], others[rows], _orthonormal(basis), kept)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tell(len(records) + step + 1)
    projection = _orthonormal(basis.detach())
    rest = principal_directions(spans - (spans @ projection.T) @ projection)[: dimension - kept[-1]]
    return _orthonormal(torch.cat([projection, rest]))


def _loss(queries: Any, best: Any, others: Any, projection: Any, kept: Sequence[int]) -> Any:
    """Squared differences of cosines: each query's best span, and all spans of the batch."""
    spans = torch.cat([best, others.flatten(0, 1)])
    whole = queries @ spans.T
    short_queries, short_spans = queries @ projection.T, spans @ projection.T
    losses = []
    for count in kept:
        short = torch.nn.functional.normalize(short_queries[:, :count], dim=1)
        cosines = short @ torch.nn.functional.normalize(short_spans[:, :count], dim=1).T
        errors = (cosines - whole).square()
        losses.append(errors.mean() + _BEST_WEIGHT * errors.diagonal().mean())
    return sum(losses)


def _orthonormal(rows: Any) -> Any:
    """The same nested subspaces, each spanned by orthonormal rows."""
    return torch.linalg.qr(rows.T)[0].T


def _search(
    encoder: TrainingEncoder,
    pairs: Sequence[tuple[str, str]],
    rng: Random,
    tell: Callable[[int], None],
) -> tuple[Any, Any, Any]:
    """Unit vectors ``(n, dimension)`` of queries and of the nearest spans, and of other spans."""
    parts = []
    for begin in range(0, len(pairs), _TEXTS):
        queries, texts = zip(*pairs[begin : begin + _TEXTS], strict=True)
        vectors = text_vectors(encoder.encode(queries))
        states = encoder.encode(texts)
        cosines = span_tensors.span_cosines(states, vectors[:, None], LONGEST)[:, 0]
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
        parts.append((vectors, span_vectors(states, best), span_vectors(states, others)))
        tell(begin + len(queries))
    queries, best, others = (torch.cat(column) for column in zip(*parts, strict=True))
    return queries, best, others.view(len(queries), _OTHERS, -1)


def _query_and_text(record: Record, encoder: TrainingEncoder, rng: Random) -> tuple[str, str]:
    if isinstance(record, Pair):
        return record.first, record.passage.text
    if isinstance(record, Triple):
        return record.query, record.positive
    words = encoder.align(record.text).words
    return span_tensors.phrase(record.text, words, *sample_span(len(words), rng)), record.text
