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

# Chosen on the training parts of Banking77 and Bitext's support intents.
NEIGHBOURS, NORMALISED, SHARPNESS = 5, 0.5, 10.0
WHOLE, MARGIN = 0.7, 0.3
REGRESSED, RIDGE = 0.2, 0.1


@dataclass(frozen=True, slots=True)
class PhraseTopic:
    """A topic as it is measured.

    Attributes:
        name: of the topic.
        phrases: wordings of it.
        counter_phrases: a document nearer to one of them is out.
        threshold: of its own, taken off its scores.
    """

    name: str
    phrases: tuple[str, ...]
    counter_phrases: tuple[str, ...] = ()
    threshold: float = 0.0


def cosine(
    spans: BestSpans, topics: Sequence[PhraseTopic], calibration: Calibration | None
) -> FloatArray:
    """The cosine of the best span."""
    return spans.cosines


def probability(
    spans: BestSpans, topics: Sequence[PhraseTopic], calibration: Calibration | None
) -> FloatArray:
    """The probability of the best span, by the model's calibration."""
    if calibration is None:
        return spans.cosines
    phrase_words = [max(1, len(find_words(text))) for text in spans.phrases.columns]
    found = calibration.probabilities(spans.cosines, phrase_words, spans.words)
    return found.astype(np.float32)


def normalised(
    spans: BestSpans, topics: Sequence[PhraseTopic], calibration: Calibration | None
) -> FloatArray:
    """The cosine of the best span, less where the phrase is near phrases of other topics.

    Phrases that are near to many things lose half of their mean cosine with the nearest five,
    as in cross-domain similarity local scaling (Conneau et al. 2018).
    """
    values: FloatArray = spans.cosines - NORMALISED * _levels(spans, topics)
    return values


def with_whole(
    spans: BestSpans, topics: Sequence[PhraseTopic], calibration: Calibration | None
) -> FloatArray:
    """As `normalised`, with the cosine of the whole text counting more than that of the span.

    An utterance is about one thing: words that its best span leaves out speak against it.
    """
    both = (1 - WHOLE) * spans.cosines + WHOLE * spans.whole
    values: FloatArray = both - NORMALISED * _levels(spans, topics)
    return values


def best(values: FloatArray) -> FloatArray:
    """The score of the best phrase."""
    highest: FloatArray = values.max(axis=1)
    return highest


def top_two(values: FloatArray) -> FloatArray:
    """The mean of the two best phrases."""
    mean: FloatArray = np.sort(values, axis=1)[:, -2:].mean(axis=1)
    return mean


def soft_best(values: FloatArray) -> FloatArray:
    """Between the best phrase and the mean of all: several good ones count for more than one."""
    soft: FloatArray = np.log(np.exp(SHARPNESS * values).mean(axis=1)) / SHARPNESS
    return soft


@dataclass(frozen=True, slots=True)
class Scoring:
    """A way to score topics.

    Attributes:
        name: of the way.
        value: ``(n_documents, n_phrases)`` what a span is worth to a phrase.
        pool: makes the score of a topic from those of its phrases.
        exclusive: whether a document has the topic with the best score alone.
        margin: share of the best score of another topic that is taken off.
        regressed: weight of what the phrases of all topics together say of the whole text.
    """

    name: str
    value: Callable[[BestSpans, Sequence[PhraseTopic], Calibration | None], FloatArray]
    pool: Callable[[FloatArray], FloatArray]
    exclusive: bool
    margin: float = 0.0
    regressed: float = 0.0

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
        values = self.value(spans, topics, calibration)
        scores = np.stack([self.pool(values[:, _columns(spans, one.phrases)]) for one in topics])
        scores = scores - np.array([[one.threshold] for one in topics], dtype=np.float32)
        if self.regressed:
            scores = scores + self.regressed * regression(spans, topics)
        if self.margin:
            scores = scores - self.margin * _ahead(scores)
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
    Scoring("normalised", normalised, soft_best, exclusive=False),
    Scoring("cosine, nearest topic", cosine, best, exclusive=True),
    Scoring("two best phrases, nearest topic", cosine, top_two, exclusive=True),
    Scoring("normalised, nearest topic", normalised, soft_best, exclusive=True),
    Scoring("span and whole text, nearest topic", with_whole, soft_best, True, MARGIN),
    Scoring("with regression, nearest topic", with_whole, soft_best, True, MARGIN, REGRESSED),
)


def regression(spans: BestSpans, topics: Sequence[PhraseTopic]) -> FloatArray:
    """``(n_topics, n_documents)`` by ridge regression on the vectors of whole texts.

    Its examples are the phrases of all topics, 1 for their own and 0 for the others, and the
    counter-phrases that are nobody's phrase, 0 for all. It is the dual form, so that cosines of
    phrases and documents are all it needs (Saunders et al. 1998).
    """
    own = {text for one in topics for text in one.phrases}
    against = {text for one in topics for text in one.counter_phrases} - own
    columns = _columns(spans, [*sorted(own), *sorted(against)])
    rows = {text: row for row, text in enumerate(sorted(own))}
    targets = np.zeros((len(columns), len(topics)))
    for number, one in enumerate(topics):
        targets[[rows[text] for text in one.phrases], number] = 1
    vectors = spans.phrases.vectors[columns]
    similar = vectors @ vectors.T + RIDGE * np.eye(len(columns))
    found: FloatArray = (spans.whole[:, columns] @ np.linalg.solve(similar, targets)).T
    return found.astype(np.float32)


def _levels(spans: BestSpans, topics: Sequence[PhraseTopic]) -> FloatArray:
    """``(n_phrases,)`` mean cosine of each phrase with the nearest ones of other topics."""
    columns = [_columns(spans, one.phrases) for one in topics]
    of_all = np.concatenate(columns)
    owner = np.repeat(np.arange(len(columns)), [len(some) for some in columns])
    vectors = spans.phrases.vectors[of_all]
    similar = vectors @ vectors.T
    similar[owner[:, None] == owner] = -np.inf
    nearest = np.sort(similar, axis=1)[:, -NEIGHBOURS:]
    others = np.isfinite(nearest)
    levels = np.zeros(spans.cosines.shape[1], dtype=np.float32)
    levels[of_all] = np.where(others, nearest, 0).sum(axis=1) / np.maximum(others.sum(axis=1), 1)
    return levels


def _ahead(scores: FloatArray) -> FloatArray:
    """The best score of another topic, for each topic and document."""
    first = scores.argmax(axis=0)
    second, best = np.sort(scores, axis=0)[-2:]
    others: FloatArray = np.where(np.arange(len(scores))[:, None] == first, second, best)
    return others


def _columns(spans: BestSpans, texts: Sequence[str]) -> IntArray:
    return np.array([spans.phrases.columns[text] for text in texts])
