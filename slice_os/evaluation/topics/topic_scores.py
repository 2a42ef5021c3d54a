"""Scores of topics for documents, from the best spans for their phrases, and their measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from slice_os.arrays import BoolArray, Float64Array, FloatArray, IntArray, unit_rows
from slice_os.encoder.calibration import Calibration
from slice_os.evaluation.encoders.text_encoder import TextEncoder
from slice_os.evaluation.harness import Progress, track
from slice_os.text.words import find_words
from slice_os.threads import one_blas_thread
from slice_os.topics.topic import Topic
from slice_os.topics.utterances.scores import (
    NORMALISED,
    REGRESSED,
    PhraseVectors,
    UtteranceScores,
    columns_of,
    phrase_levels,
    soft_best,
    text_spans,
    uncountered,
)

TOP = 10
GRID = 400


@dataclass(frozen=True, slots=True)
class Scored:
    """``(n_topics, n_documents)`` scores, ``-inf`` if ruled out, scores to rank by, and gold."""

    scores: FloatArray
    ranking: FloatArray
    gold: BoolArray


def average_precision(ranking: FloatArray, gold: BoolArray) -> Float64Array:
    """``(n_topics,)`` average precision; ties count as ranked in the documents' order."""
    right = _ranked(ranking, gold)
    found = right.cumsum(axis=1)
    precision = found / np.arange(1, right.shape[1] + 1)
    values: Float64Array = (precision * right).sum(axis=1) / np.maximum(found[:, -1], 1)
    return values


def precision_at(ranking: FloatArray, gold: BoolArray, top: int = TOP) -> Float64Array:
    """``(n_topics,)`` share of right ones among the first documents."""
    values: Float64Array = _ranked(ranking, gold)[:, :top].mean(axis=1)
    return values


def f1_at(scores: FloatArray, gold: BoolArray, thresholds: npt.ArrayLike) -> Float64Array:
    """``(n_topics,)`` F1, with one threshold for all topics or one for each."""
    given = scores >= np.broadcast_to(np.asarray(thresholds), len(scores))[:, None]
    both = (given & gold).sum(axis=1)
    values: Float64Array = 2 * both / np.maximum(given.sum(axis=1) + gold.sum(axis=1), 1)
    return values


def best_f1(scores: FloatArray, gold: BoolArray) -> Float64Array:
    """``(n_topics,)`` F1 with the best threshold for each."""
    order = np.argsort(-scores, axis=1, kind="stable")
    falling = np.take_along_axis(scores, order, axis=1)
    found = np.take_along_axis(gold, order, axis=1).cumsum(axis=1)
    given = np.arange(1, scores.shape[1] + 1)
    f1 = 2 * found / (given + gold.sum(axis=1, keepdims=True))
    # A threshold is between two different scores.
    possible = np.isfinite(falling)
    possible[:, :-1] &= falling[:, :-1] > falling[:, 1:]
    values: Float64Array = np.where(possible, f1, 0).max(axis=1)
    return values


def one_threshold(sets: Sequence[Scored]) -> float:
    """The threshold with the best macro F1, on average over sets."""
    finite = np.concatenate([one.scores[np.isfinite(one.scores)] for one in sets])
    grid = np.unique(np.quantile(finite, np.linspace(0, 1, GRID) ** 0.25))
    means = np.mean([_macro_f1(one, grid) for one in sets], axis=0)
    return float(grid[int(np.argmax(means))])


def _macro_f1(scored: Scored, thresholds: Float64Array) -> Float64Array:
    """``(n_thresholds,)`` the mean of `f1_at` over topics."""
    total = np.zeros(len(thresholds))
    for scores, gold in zip(scored.scores, scored.gold, strict=True):
        right = np.sort(scores[gold])
        given = len(scores) - np.searchsorted(np.sort(scores), thresholds)
        both = len(right) - np.searchsorted(right, thresholds)
        total += 2 * both / np.maximum(given + len(right), 1)
    return total / len(scored.gold)


def _ranked(ranking: FloatArray, gold: BoolArray) -> BoolArray:
    order = np.argsort(-ranking, axis=1, kind="stable")
    return np.take_along_axis(gold, order, axis=1)


@dataclass(frozen=True, slots=True)
class BestSpans:
    """``(n_documents, n_phrases)`` cosines and words of best spans, and cosines of whole texts."""

    phrases: PhraseVectors
    cosines: FloatArray
    words: npt.NDArray[np.uint8]
    whole: FloatArray
    calibration: Calibration | None = None

    def rows(self, chosen: slice | IntArray) -> BestSpans:
        """Those of some of the documents."""
        of_rows = (self.cosines[chosen], self.words[chosen], self.whole[chosen])
        return BestSpans(self.phrases, *of_rows, self.calibration)


def phrase_vectors(encoder: TextEncoder, *blocks: Sequence[str]) -> PhraseVectors:
    """The vectors of phrases, of repeated ones the first; they are cached by block."""
    columns: dict[str, int] = {}
    vectors = []
    for block in blocks:
        for text, (_, pieces) in zip(block, encoder.tokens(block), strict=True):
            if text not in columns:
                columns[text] = len(columns)
                vectors.append(pieces.mean(axis=0) if len(pieces) else np.zeros(pieces.shape[1]))
    return PhraseVectors(columns, unit_rows(np.stack(vectors).astype(np.float32)))


@one_blas_thread()
def best_spans(
    encoder: TextEncoder,
    documents: Sequence[str],
    phrases: PhraseVectors,
    label: str,
    progress: Progress,
) -> BestSpans:
    """Score every span of up to 20 words of every document."""
    shape = len(documents), len(phrases.columns)
    cosines, whole = np.empty(shape, dtype=np.float32), np.empty(shape, dtype=np.float32)
    words = np.empty(shape, dtype=np.uint8)
    encoded = track(encoder.tokens(documents), label, len(documents), progress)
    for row, (aligned, vectors) in enumerate(encoded):
        found = text_spans(aligned, vectors, phrases)
        cosines[row], words[row], whole[row] = found.cosines, found.words, found.whole
    calibration = encoder.spans.calibration if encoder.spans else None
    return BestSpans(phrases, cosines, words, whole, calibration)


Value: TypeAlias = Callable[[BestSpans, Sequence[Topic]], FloatArray]
"""Scores of documents for phrases, or for topics."""


def cosine(spans: BestSpans, topics: Sequence[Topic]) -> FloatArray:
    """The cosine of the best span."""
    return spans.cosines


def probability(spans: BestSpans, topics: Sequence[Topic]) -> FloatArray:
    """The probability of the best span, by the model's calibration."""
    if spans.calibration is None:
        return spans.cosines
    phrase_words = [max(1, len(find_words(text))) for text in spans.phrases.columns]
    found = spans.calibration.probabilities(spans.cosines, phrase_words, spans.words)
    return found.astype(np.float32)


def normalised(spans: BestSpans, topics: Sequence[Topic]) -> FloatArray:
    """The cosine of the best span, less where the phrase is near phrases of other topics."""
    values: FloatArray = spans.cosines - NORMALISED * phrase_levels(topics, spans.phrases)
    return values


best = partial(np.max, axis=1)


def top_two(values: FloatArray) -> FloatArray:
    """The mean of the two best phrases."""
    mean: FloatArray = np.sort(values, axis=1)[:, -2:].mean(axis=1)
    return mean


def pooled(value: Value, pool: Callable[[FloatArray], FloatArray]) -> Value:
    """Scores of topics: ``pool`` makes them from ``(n_documents, n_phrases)`` scores of phrases."""

    def scores(spans: BestSpans, topics: Sequence[Topic]) -> FloatArray:
        values = value(spans, topics)
        columns = [columns_of(spans.phrases, one.all_phrases) for one in topics]
        return np.stack([pool(values[:, some]) for some in columns])

    return scores


def utterance(regressed: float) -> Value:
    """Scores of topics as `UtteranceTagger` gives them, with this weight of the regression."""
    return lambda spans, topics: UtteranceScores(topics, spans.phrases, regressed).of(
        spans.cosines, spans.whole
    )


@dataclass(frozen=True, slots=True)
class Scoring:
    """A way to score topics; if exclusive, a document has only the topic with the best score."""

    name: str
    scores: Value
    exclusive: bool

    def scored(self, spans: BestSpans, topics: Sequence[Topic], gold: BoolArray) -> Scored:
        """Score topics; a threshold of their own is taken off their scores."""
        scores = self.scores(spans, topics)
        scores = scores - np.array([[one.threshold or 0.0] for one in topics], dtype=np.float32)
        allowed = uncountered(topics, spans.phrases, spans.cosines)
        ranking = np.where(allowed, scores, scores - 10)
        if self.exclusive:
            nearest = ranking == ranking.max(axis=0)
            allowed &= nearest
            ranking = np.where(nearest, ranking, ranking - 100)
        return Scored(np.where(allowed, scores, -np.inf), ranking, gold)


SCORINGS = (
    Scoring("cosine", pooled(cosine, best), exclusive=False),
    Scoring("probability", pooled(probability, best), exclusive=False),
    Scoring("two best phrases", pooled(cosine, top_two), exclusive=False),
    Scoring("normalised", pooled(normalised, soft_best), exclusive=False),
    Scoring("cosine, nearest topic", pooled(cosine, best), exclusive=True),
    Scoring("two best phrases, nearest topic", pooled(cosine, top_two), exclusive=True),
    Scoring("normalised, nearest topic", pooled(normalised, soft_best), exclusive=True),
    Scoring("span and whole text, nearest topic", utterance(0), exclusive=True),
    Scoring("with regression, nearest topic", utterance(REGRESSED), exclusive=True),
)
