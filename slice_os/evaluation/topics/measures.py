"""Measures of scores of topics: how they rank documents, and decide which topics they have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from slice_os.arrays import FloatArray
from slice_os.evaluation.stats import Numbers

TOP = 10
GRID = 400

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores of topics for documents, and which are right.

    Attributes:
        scores: ``(n_topics, n_documents)``; ``-inf`` if a document cannot have the topic.
        ranking: ``(n_topics, n_documents)`` scores to rank by.
        gold: ``(n_topics, n_documents)`` whether a document has the topic.
    """

    scores: FloatArray
    ranking: FloatArray
    gold: Flags


def average_precision(ranking: FloatArray, gold: Flags) -> Numbers:
    """``(n_topics,)`` average precision; ties count as ranked in the documents' order."""
    right = _ranked(ranking, gold)
    found = right.cumsum(axis=1)
    precision = found / np.arange(1, right.shape[1] + 1)
    values: Numbers = (precision * right).sum(axis=1) / np.maximum(found[:, -1], 1)
    return values


def precision_at(ranking: FloatArray, gold: Flags, top: int = TOP) -> Numbers:
    """``(n_topics,)`` share of right ones among the first documents."""
    values: Numbers = _ranked(ranking, gold)[:, :top].mean(axis=1)
    return values


def f1_at(scores: FloatArray, gold: Flags, thresholds: npt.ArrayLike) -> Numbers:
    """``(n_topics,)`` F1, with one threshold for all topics or one for each."""
    given = scores >= np.broadcast_to(np.asarray(thresholds), len(scores))[:, None]
    both = (given & gold).sum(axis=1)
    values: Numbers = 2 * both / np.maximum(given.sum(axis=1) + gold.sum(axis=1), 1)
    return values


def best_f1(scores: FloatArray, gold: Flags) -> Numbers:
    """``(n_topics,)`` F1 with the best threshold for each."""
    order = np.argsort(-scores, axis=1, kind="stable")
    falling = np.take_along_axis(scores, order, axis=1)
    found = np.take_along_axis(gold, order, axis=1).cumsum(axis=1)
    given = np.arange(1, scores.shape[1] + 1)
    f1 = 2 * found / (given + gold.sum(axis=1, keepdims=True))
    # A threshold is between two different scores.
    possible = np.isfinite(falling)
    possible[:, :-1] &= falling[:, :-1] > falling[:, 1:]
    values: Numbers = np.where(possible, f1, 0).max(axis=1)
    return values


def one_threshold(sets: Sequence[Scored]) -> float:
    """The threshold with the best macro F1, on average over sets."""
    finite = np.concatenate([one.scores[np.isfinite(one.scores)] for one in sets])
    grid = np.unique(np.quantile(finite, np.linspace(0, 1, GRID) ** 0.25))
    means = np.mean([_macro_f1(one, grid) for one in sets], axis=0)
    return float(grid[int(np.argmax(means))])


def _macro_f1(scored: Scored, thresholds: Numbers) -> Numbers:
    """``(n_thresholds,)`` the mean of `f1_at` over topics."""
    total = np.zeros(len(thresholds))
    for scores, gold in zip(scored.scores, scored.gold, strict=True):
        right = np.sort(scores[gold])
        given = len(scores) - np.searchsorted(np.sort(scores), thresholds)
        both = len(right) - np.searchsorted(right, thresholds)
        total += 2 * both / np.maximum(given + len(right), 1)
    return total / len(scored.gold)


def _ranked(ranking: FloatArray, gold: Flags) -> Flags:
    order = np.argsort(-ranking, axis=1, kind="stable")
    return np.take_along_axis(gold, order, axis=1)
