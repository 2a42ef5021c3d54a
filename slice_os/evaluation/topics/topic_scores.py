"""Scores of topics for documents, from the best spans for their phrases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from slice_os.arrays import FloatArray, IntArray
from slice_os.encoder.calibration import Calibration
from slice_os.evaluation.encoders.text_encoder import TextEncoder
from slice_os.evaluation.harness import Progress, track
from slice_os.evaluation.topics.measures import Flags, Scored
from slice_os.text.words import find_words
from slice_os.threads import one_blas_thread
from slice_os.topics.topic import Topic
from slice_os.topics.utterances.scores import (
    NORMALISED,
    REGRESSED,
    UtteranceScores,
    columns_of,
    phrase_levels,
    soft_best,
    uncountered,
)
from slice_os.topics.utterances.spans import PhraseVectors, text_spans

_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class BestSpans:
    """``(n_documents, n_phrases)`` cosines and words of best spans, and cosines of whole texts."""

    phrases: PhraseVectors
    cosines: FloatArray
    words: npt.NDArray[np.uint8]
    whole: FloatArray

    def rows(self, chosen: slice | IntArray) -> BestSpans:
        """Those of some of the documents."""
        return BestSpans(self.phrases, self.cosines[chosen], self.words[chosen], self.whole[chosen])


def phrase_vectors(encoder: TextEncoder, *blocks: Sequence[str]) -> PhraseVectors:
    """The vectors of phrases, of repeated ones the first; they are cached by block."""
    columns: dict[str, int] = {}
    vectors = []
    for block in blocks:
        for text, (_, pieces) in zip(block, encoder.tokens(block), strict=True):
            if text not in columns:
                columns[text] = len(columns)
                vectors.append(pieces.mean(axis=0) if len(pieces) else np.zeros(pieces.shape[1]))
    stacked = np.stack(vectors).astype(np.float32)
    return PhraseVectors(
        columns, stacked / np.maximum(np.linalg.norm(stacked, axis=1, keepdims=True), _TINY)
    )


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
    return BestSpans(phrases, cosines, words, whole)


Value: TypeAlias = Callable[[BestSpans, Sequence[Topic], Calibration | None], FloatArray]
"""Scores of documents for phrases, or for topics."""


def cosine(
    spans: BestSpans, topics: Sequence[Topic], calibration: Calibration | None
) -> FloatArray:
    """The cosine of the best span."""
    return spans.cosines


def probability(
    spans: BestSpans, topics: Sequence[Topic], calibration: Calibration | None
) -> FloatArray:
    """The probability of the best span, by the model's calibration."""
    if calibration is None:
        return spans.cosines
    phrase_words = [max(1, len(find_words(text))) for text in spans.phrases.columns]
    found = calibration.probabilities(spans.cosines, phrase_words, spans.words)
    return found.astype(np.float32)


def normalised(
    spans: BestSpans, topics: Sequence[Topic], calibration: Calibration | None
) -> FloatArray:
    """The cosine of the best span, less where the phrase is near phrases of other topics."""
    values: FloatArray = spans.cosines - NORMALISED * phrase_levels(topics, spans.phrases)
    return values


def best(values: FloatArray) -> FloatArray:
    """The score of the best phrase."""
    highest: FloatArray = values.max(axis=1)
    return highest


def top_two(values: FloatArray) -> FloatArray:
    """The mean of the two best phrases."""
    mean: FloatArray = np.sort(values, axis=1)[:, -2:].mean(axis=1)
    return mean


def pooled(value: Value, pool: Callable[[FloatArray], FloatArray]) -> Value:
    """Scores of topics: ``pool`` makes them from ``(n_documents, n_phrases)`` scores of phrases."""

    def scores(
        spans: BestSpans, topics: Sequence[Topic], calibration: Calibration | None
    ) -> FloatArray:
        values = value(spans, topics, calibration)
        columns = [columns_of(spans.phrases, one.all_phrases) for one in topics]
        return np.stack([pool(values[:, some]) for some in columns])

    return scores


def utterance(regressed: float) -> Value:
    """Scores of topics as `UtteranceTagger` gives them, with this weight of the regression."""

    def scores(
        spans: BestSpans, topics: Sequence[Topic], calibration: Calibration | None
    ) -> FloatArray:
        return UtteranceScores(topics, spans.phrases, regressed).of(spans.cosines, spans.whole)

    return scores


@dataclass(frozen=True, slots=True)
class Scoring:
    """A way to score topics; if exclusive, a document has only the topic with the best score."""

    name: str
    scores: Value
    exclusive: bool

    def scored(
        self,
        spans: BestSpans,
        topics: Sequence[Topic],
        gold: Flags,
        calibration: Calibration | None,
    ) -> Scored:
        """Score topics; a threshold of their own is taken off their scores."""
        scores = self.scores(spans, topics, calibration)
        own = np.array([[one.threshold or 0.0] for one in topics], dtype=np.float32)
        scores = scores - own
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
