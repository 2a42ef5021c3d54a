"""Scores of topics for documents, from the best spans for their phrases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from slice_os.arrays import FloatArray, IntArray
from slice_os.calibration import Calibration
from slice_os.evaluation.topics.measures import Flags, Scored
from slice_os.evaluation.topics.spans import BestSpans
from slice_os.words import find_words


@dataclass(frozen=True, slots=True)
class PhraseTopic:
    """A topic as it is measured.

    Attributes:
        name: of the topic.
        phrases: wordings of it.
        counter_phrases: a document nearer to one of them is out.
    """

    name: str
    phrases: tuple[str, ...]
    counter_phrases: tuple[str, ...] = ()


def cosine(spans: BestSpans, calibration: Calibration | None) -> FloatArray:
    """The cosine of the best span."""
    return spans.cosines


def probability(spans: BestSpans, calibration: Calibration | None) -> FloatArray:
    """The probability of the best span, by the model's calibration."""
    if calibration is None:
        return spans.cosines
    phrase_words = [max(1, len(find_words(text))) for text in spans.columns]
    found = calibration.probabilities(spans.cosines, phrase_words, spans.words)
    return found.astype(np.float32)


def best(values: FloatArray) -> FloatArray:
    """The score of the best phrase."""
    highest: FloatArray = values.max(axis=1)
    return highest


def top_two(values: FloatArray) -> FloatArray:
    """The mean of the two best phrases."""
    mean: FloatArray = np.sort(values, axis=1)[:, -2:].mean(axis=1)
    return mean


@dataclass(frozen=True, slots=True)
class Scoring:
    """A way to score topics.

    Attributes:
        name: of the way.
        value: ``(n_documents, n_phrases)`` what a span is worth to a phrase.
        pool: makes the score of a topic from those of its phrases.
        exclusive: whether a document has the topic with the best score alone.
    """

    name: str
    value: Callable[[BestSpans, Calibration | None], FloatArray]
    pool: Callable[[FloatArray], FloatArray]
    exclusive: bool

    def scored(
        self,
        spans: BestSpans,
        topics: Sequence[PhraseTopic],
        gold: Flags,
        calibration: Calibration | None,
    ) -> Scored:
        """Score topics.

        Args:
            spans: of the documents, with a column for every phrase and counter-phrase.
            topics: the topics.
            gold: ``(n_topics, n_documents)``.
            calibration: of the encoder.
        """
        values = self.value(spans, calibration)
        scores = np.stack([self.pool(values[:, _columns(spans, one.phrases)]) for one in topics])
        allowed = np.ones(scores.shape, dtype=bool)
        for row, one in enumerate(topics):
            if one.counter_phrases:
                against = spans.cosines[:, _columns(spans, one.counter_phrases)].max(axis=1)
                own = spans.cosines[:, _columns(spans, one.phrases)].max(axis=1)
                allowed[row] = own >= against
        ranking = np.where(allowed, scores, scores - 10)
        if self.exclusive:
            nearest = ranking == ranking.max(axis=0)
            allowed &= nearest
            ranking = np.where(nearest, ranking, ranking - 100)
        return Scored(np.where(allowed, scores, -np.inf), ranking, gold)


SCORINGS = (
    Scoring("cosine", cosine, best, exclusive=False),
    Scoring("probability", probability, best, exclusive=False),
    Scoring("two best phrases", cosine, top_two, exclusive=False),
    Scoring("cosine, nearest topic", cosine, best, exclusive=True),
    Scoring("probability, nearest topic", probability, best, exclusive=True),
    Scoring("two best phrases, nearest topic", cosine, top_two, exclusive=True),
)


def _columns(spans: BestSpans, texts: Sequence[str]) -> IntArray:
    return np.array([spans.columns[text] for text in texts])
