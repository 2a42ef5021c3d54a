"""Dev metrics of a run: correlation of the best span, and substitutes told apart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

import numpy as np

from slice_os.training.backend import torch
from slice_os.training.config import DevConfig
from slice_os.training.objectives.contextual import placed_vectors, substituted
from slice_os.training.prepared_sets import Loaded
from slice_os.training.record_types import Pair, Substitution
from slice_os.training.span_tensors import best_cosines, text_vectors
from slice_os.training.training_encoder import TrainingEncoder

_BATCH = 32
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DevResult:
    """Dev metrics; 0 for one without data.

    Attributes:
        pearson: correlation of the best span's cosine (single forward pass) with pairs' scores.
        auc: probability that a right substitute's cosine in context is above a wrong one's.
    """

    pearson: float
    auc: float


def evaluate(
    config: DevConfig,
    datasets: Mapping[str, Loaded],
    encoder: TrainingEncoder,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> DevResult:
    """Measure an encoder on the dev data of a recipe, with the same records and texts every time.

    Progress is the number of records done, and their total.
    """
    rng = Random("dev")  # noqa: S311
    pairs = _sample(datasets, config.pairs, config.limit, Pair)
    substitutions = _sample(datasets, config.substitutions, config.limit, Substitution)

    def batches(records: Sequence[T], before: int) -> Iterator[Sequence[T]]:
        for start in range(0, len(records), _BATCH):
            part = records[start : start + _BATCH]
            yield part
            progress(before + start + len(part), len(pairs) + len(substitutions))

    encoder.network.eval()
    pearson = auc = 0.0
    with torch.no_grad():
        if pairs:
            best = [_best(part, encoder, config.max_words) for part in batches(pairs, 0)]
            scores = [pair.score for pair in pairs]
            pearson = float(np.corrcoef(np.concatenate(best), scores)[0, 1])
        if substitutions:
            parts = batches(substitutions, len(pairs))
            right, wrong = np.hstack([_right_and_wrong(part, encoder, rng) for part in parts])
            auc = float((right[:, None] > wrong).mean() + (right[:, None] == wrong).mean() / 2)
    return DevResult(pearson, auc)


def _sample(datasets: Mapping[str, Loaded], name: str, limit: int, kind: type[T]) -> list[T]:
    found = datasets[name].sample(limit, Random("dev")) if name else []  # noqa: S311
    return [record for record in found if isinstance(record, kind)]


def _best(pairs: Sequence[Pair], encoder: TrainingEncoder, max_words: int) -> np.ndarray:
    phrases = text_vectors(encoder.encode([pair.first for pair in pairs]))
    passages = encoder.encode([pair.passage.text for pair in pairs])
    return np.asarray(best_cosines(passages, phrases[:, None], max_words)[:, 0].cpu())


def _right_and_wrong(
    records: Sequence[Substitution], encoder: TrainingEncoder, rng: Random
) -> np.ndarray:
    """``(2, n)`` cosines of words with one right and one wrong substitute each, in context."""
    original, *sides = (
        np.asarray(placed_vectors(encoder, placed).cpu()) for placed in substituted(records, rng)
    )
    return np.stack([(original * side).sum(axis=1) for side in sides])
