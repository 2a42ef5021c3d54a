"""Dev metrics of a run: correlation of the best span, and substitutes told apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

import numpy as np

from slice_os.training.backend import torch
from slice_os.training.config import DevConfig
from slice_os.training.objectives.contextual import placed_vectors, substitute
from slice_os.training.prepared_sets import Loaded
from slice_os.training.record_types import Pair, Passage, Substitution
from slice_os.training.span_tensors import best_cosines, text_vectors
from slice_os.training.training_encoder import TrainingEncoder

_BATCH = 32


@dataclass(frozen=True, slots=True)
class DevResult:
    """Dev metrics; 0 for one without data.

    Attributes:
        pearson: correlation of the best span's cosine (single forward pass) with pairs' scores.
        auc: probability that a right substitute's cosine in context is above a wrong one's.
    """

    pearson: float
    auc: float

    @property
    def score(self) -> float:
        """The sum, by which early stopping decides."""
        return self.pearson + self.auc


def evaluate(
    config: DevConfig,
    datasets: Mapping[str, Loaded],
    encoder: TrainingEncoder,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> DevResult:
    """Measure an encoder on the dev data of a recipe, with the same records and texts every time.

    Progress is the number of records done, and their total.
    """
    samples = [
        datasets[name].sample(config.limit, Random("dev")) if name else []  # noqa: S311
        for name in (config.pairs, config.substitutions)
    ]
    pairs = [record for record in samples[0] if isinstance(record, Pair)]
    substitutions = [record for record in samples[1] if isinstance(record, Substitution)]
    total = len(pairs) + len(substitutions)
    encoder.network.eval()
    pearson = auc = 0.0
    with torch.no_grad():
        if pairs:
            tell = partial(_tell, progress, 0, total)
            cosines = _best(pairs, encoder, config.max_words, tell)
            pearson = float(np.corrcoef(cosines, [pair.score for pair in pairs])[0, 1])
        if substitutions:
            tell = partial(_tell, progress, len(pairs), total)
            auc = _auc(*_right_and_wrong(substitutions, encoder, tell))
    return DevResult(pearson, auc)


def _tell(progress: Callable[[int, int], None], before: int, total: int, done: int) -> None:
    progress(before + done, total)


def _best(
    pairs: Sequence[Pair], encoder: TrainingEncoder, max_words: int, tell: Callable[[int], None]
) -> np.ndarray:
    cosines = []
    for start in range(0, len(pairs), _BATCH):
        part = pairs[start : start + _BATCH]
        phrases = text_vectors(encoder.encode([pair.first for pair in part]))
        passages = encoder.encode([pair.passage.text for pair in part])
        cosines.append(best_cosines(passages, phrases[:, None], max_words)[:, 0].cpu().numpy())
        tell(start + len(part))
    return np.concatenate(cosines)


def _right_and_wrong(
    records: Sequence[Substitution], encoder: TrainingEncoder, tell: Callable[[int], None]
) -> tuple[np.ndarray, np.ndarray]:
    """Cosines of words with one right and one wrong substitute each, in context."""
    rng = Random("dev")  # noqa: S311
    sides: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for start in range(0, len(records), _BATCH):
        part = records[start : start + _BATCH]
        original = _vectors([Passage(r.text, r.start, r.end) for r in part], encoder)
        for side, name in zip(sides, ("right", "wrong"), strict=True):
            replaced = [substitute(r, rng.choice(getattr(r, name))) for r in part]
            side.append((original * _vectors(replaced, encoder)).sum(axis=1))
        tell(start + len(part))
    return np.concatenate(sides[0]), np.concatenate(sides[1])


def _vectors(passages: Sequence[Passage], encoder: TrainingEncoder) -> np.ndarray:
    return np.asarray(placed_vectors(encoder, passages).cpu())


def _auc(right: np.ndarray, wrong: np.ndarray) -> float:
    above = (right[:, None] > wrong).mean() + (right[:, None] == wrong).mean() / 2
    return float(above)
