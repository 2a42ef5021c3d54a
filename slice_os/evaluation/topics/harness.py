"""Topics from a few phrases each: how well documents are ranked, and given their topics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TypeAlias

import numpy as np

from slice_os.arrays import BoolArray, FloatArray
from slice_os.datasets.files import DataFile
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.errors import InputError
from slice_os.evaluation.encoders.text_encoder import TextEncoder
from slice_os.evaluation.harness import Harness, Progress, quiet
from slice_os.evaluation.measures import Measure, averaged, measured
from slice_os.evaluation.results import Evaluation, Row
from slice_os.evaluation.topics.topic_scores import (
    SCORINGS,
    BestSpans,
    Scored,
    Scoring,
    average_precision,
    best_f1,
    best_spans,
    f1_at,
    one_threshold,
    phrase_vectors,
    precision_at,
)
from slice_os.evaluation.topics.topic_sets import TopicSet, TopicText, read_topic_set
from slice_os.labels.label import Label
from slice_os.records import at_least
from slice_os.topics.learning import learn
from slice_os.topics.topic import Topic

Answers: TypeAlias = Sequence[Sequence[int]]
"""For each topic, numbers of the texts that are labelled."""

Learner: TypeAlias = Callable[[Topic, Sequence[Label]], Topic]
"""Makes a topic of a topic and labels of texts; its phrases come from either."""


def add_labels(topic: Topic, labels: Sequence[Label]) -> Topic:
    """Right texts become phrases, and wrong ones counter-phrases."""
    right = (label.text for label in labels if label.right)
    phrases = tuple(dict.fromkeys((*topic.phrases, *right)))
    wrong = (label.text for label in labels if not label.right and label.text not in phrases)
    counter_phrases = tuple(dict.fromkeys((*topic.counter_phrases, *wrong)))
    return replace(topic, phrases=phrases, counter_phrases=counter_phrases)


def as_topics_learn(encoder: SpanEncoder) -> Learner:
    """The learner of `slice-os topics learn --exclusive`, with the topic's own threshold."""

    def learner(topic: Topic, labels: Sequence[Label]) -> Topic:
        given = Topic(topic.name, topic.phrases, threshold=encoder.card.threshold)
        made = learn(given, labels, encoder, exclusive=True, verify=False)
        plain = {label.text: " ".join(label.text.split()) for label in labels}
        phrases = (text for text, said in plain.items() if said in made.phrases)
        against = tuple(text for text, said in plain.items() if said in made.counter_phrases)
        both = tuple(dict.fromkeys((*topic.phrases, *phrases)))
        return Topic(topic.name, both, counter_phrases=against, threshold=made.threshold)

    return learner


def asked_about(scores: FloatArray, threshold: float, n_labels: int) -> Answers:
    """The texts that a person is asked about: the least certain, nearest to the threshold."""
    order = np.argsort(np.abs(scores - threshold), axis=1, kind="stable")
    return tuple(map(tuple, order[:, :n_labels].tolist()))


def learned(
    topics: Sequence[Topic],
    texts: Sequence[str],
    gold: BoolArray,
    answers: Answers,
    learner: Learner = add_labels,
) -> list[Topic]:
    """Topics after a person has answered, by ``(n_topics, n_texts)`` gold, about some texts."""
    return [
        learner(topic, [Label(topic.name, texts[place], bool(right[place])) for place in asked])
        for topic, right, asked in zip(topics, gold, answers, strict=True)
    ]


PHRASES, LABELLED = 5, 20
# Of the sets that choose the threshold, so many parts of the topics are left out in turn.
_FOLDS = 4
# What `slice-os topics learn` works with.
_LEARNING = "cosine, nearest topic"

MEASURES: tuple[Measure[Scored], ...] = (
    averaged("map", lambda one: average_precision(one.ranking, one.gold), interval=True),
    averaged("p@10", lambda one: precision_at(one.ranking, one.gold)),
)
F1_MEASURES: tuple[Measure[Scored], ...] = (
    averaged("f1_best_one", lambda one: f1_at(one.scores, one.gold, one_threshold([one]))),
    averaged("f1_best_each", lambda one: best_f1(one.scores, one.gold)),
)


@dataclass(frozen=True, slots=True)
class Part:
    """Texts, their best spans, and ``(n_topics, n_texts)`` gold."""

    texts: Sequence[str]
    spans: BestSpans
    gold: BoolArray

    def of(self, topics: Sequence[int], texts: slice) -> Part:
        """That of some topics and texts."""
        return Part(self.texts[texts], self.spans.rows(texts), self.gold[topics, texts])


@dataclass(frozen=True, slots=True)
class Task:
    """Topics, a pool of texts to label, and the documents to find."""

    topics: Sequence[Topic]
    pool: Part
    documents: Part


def run(
    data: Path,
    encoders: Sequence[TextEncoder],
    *,
    progress: Progress = quiet,
    tune: Annotated[
        tuple[Path, ...],
        "PATH",
        "Choose the one threshold on the training part of this set; repeatable.",
    ] = (),
    phrases: Annotated[
        int, at_least(1), "Phrases of each topic, from the training part."
    ] = PHRASES,
    labels: Annotated[
        int | None, at_least(1), "N", "Also measure after N labels for each topic."
    ] = None,
    labelled: Annotated[
        int, at_least(2), "Training texts of each topic that labels are chosen from."
    ] = LABELLED,
) -> Evaluation:
    """Measure topics of a few phrases."""
    tested = read_topic_set(data, phrases, labelled)
    tuned = [read_topic_set(path, phrases, labelled) for path in tune]
    if any(one.files == tested.files for one in tuned):
        raise InputError(f"{data}: is measured; choose the threshold on other sets")
    for path, one in zip((data, *tune), (tested, *tuned), strict=True):
        if len(one.labelled) < 2 and (labels or one is not tested):
            raise InputError(f"{path}: no training text is left to label; give fewer phrases")
    rows: list[Row] = []
    for encoder in encoders:
        if encoder.representation != "mean":
            raise InputError(f"{encoder.name}: topics need an encoder of token vectors")
        task = _task(tested, encoder, progress)
        others = [fold for one in tuned for fold in _folds(one, encoder, progress)]
        for scoring in SCORINGS:
            if task.documents.spans.calibration is None and "probability" in scoring.name:
                continue
            steps: list[tuple[str, int | None, Learner]] = [(scoring.name, None, add_labels)]
            if labels:
                steps.append((scoring.name, labels, add_labels))
            if labels and encoder.spans and scoring.name == _LEARNING:
                steps.append(("as topics learn", labels, as_topics_learn(encoder.spans)))
            for name, n_labels, learner in steps:
                found, threshold = _after(task, others, scoring, n_labels, learner)
                cells = measured(MEASURES, found)
                if threshold is not None:
                    f1 = f1_at(found.scores, found.gold, threshold)
                    at_threshold = averaged("f1", lambda values: values, interval=True)
                    cells |= {**measured([at_threshold], f1), "threshold": threshold}
                cells |= measured(F1_MEASURES, found)
                about: Row = {"encoder": encoder.name, "score": name, "labels": n_labels or 0}
                rows.append({**about, **cells})
    return Evaluation(
        "topics",
        tuple(rows),
        data_files(tested, tuned),
        {
            "set": tested.name,
            "tuned_on": [one.name for one in tuned],
            "phrases": phrases,
            "labelled": labelled,
            "topics": len(tested.topics),
            "documents": len(tested.documents),
        },
        (
            "Averages over topics. f1: with one threshold for all topics, chosen on the training "
            "parts of the other sets; f1_best_one and f1_best_each: with the threshold for all, "
            "or for each topic, that is best on the test part, which nobody knows beforehand.",
            "cosine: of the best span; probability: of that span, by the model's calibration; "
            "normalised: the cosine less half of the phrase's mean cosine with the five nearest "
            "phrases of other topics, and a soft maximum over the topic's phrases; span and whole "
            "text: as normalised, of 0.3 times the cosine of the span and 0.7 times that of the "
            "whole text, less 0.3 times the score of the next best topic; with regression: as "
            "that, and 0.2 times what a ridge regression on the phrases and counter-phrases of all "
            "topics says of the whole text.",
            "nearest topic: a document has the topic with the best score alone, or none. labels: "
            "so many texts of the training part were labelled for each topic, the least certain "
            "first; right ones became phrases, wrong ones counter-phrases; the threshold is the "
            "mean of the one chosen on the other sets and the one chosen by the labels, each "
            "labelled text scored by topics that did not see it, with a quarter of the topics "
            "left out in turn. as topics learn: what "
            "`slice-os topics learn --exclusive` makes of the labels, with cosines.",
        ),
        keys=("labels",),
        main=("map", "p@10", "f1", "f1_best_one", "f1_best_each"),
    )


def data_files(tested: TopicSet, tuned: Sequence[TopicSet]) -> tuple[DataFile, ...]:
    """The files that figures come from; of sets that choose the threshold, the training part."""
    rows: dict[Path, int] = {}
    for one in (tested, *tuned):
        train, test = one.files[0], one.files[-1]
        rows[train] = sum(len(topic.phrases) for topic in one.topics) + len(one.labelled)
        if one is tested:
            rows[test] = rows.get(test, 0) + len(one.documents)
    return tuple(DataFile.of(file, count) for file, count in rows.items())


def _after(
    task: Task, others: Sequence[Task], scoring: Scoring, n_labels: int | None, learner: Learner
) -> tuple[Scored, float | None]:
    """Scores after so many labels for each topic, and a threshold that the test part has no say in.

    Without labels it is chosen on other sets. With labels it is the mean of that and of the one
    that is chosen by the labels, unless topics have learned thresholds of their own.
    """

    def scored(one: Task, topics: Sequence[Topic]) -> Scored:
        return scoring.scored(one.documents.spans, topics, one.documents.gold)

    before = [scored(one, one.topics) for one in others]
    start = one_threshold(before) if others else None
    if n_labels is None:
        return scored(task, task.topics), start

    def answers(one: Task) -> Answers:
        ranking = scoring.scored(one.pool.spans, one.topics, one.pool.gold).ranking
        asked_at = float(np.median(ranking.max(axis=1))) if start is None else start
        return asked_about(ranking, asked_at, n_labels)

    def taught(one: Task, answered: Answers) -> list[Topic]:
        return learned(one.topics, one.pool.texts, one.pool.gold, answered, learner)

    after = [scored(one, taught(one, answers(one))) for one in others]
    answered = answers(task)
    found = scored(task, taught(task, answered))
    if not others:
        return found, None
    elsewhere = one_threshold(after)
    if learner is not add_labels:
        return found, elsewhere
    own = list(_held_out(task, scoring, answered))
    return found, (elsewhere + one_threshold(own)) / 2 if own else elsewhere


def _held_out(task: Task, scoring: Scoring, answered: Answers) -> Iterator[Scored]:
    """Scores of the texts that have a topic by the labels, each by topics that never saw it.

    Some topics are left out in turn, so that some texts have none.
    """
    pool = task.pool
    known = sorted(
        {text for row, asked in enumerate(answered) for text in asked if pool.gold[row, text]}
    )
    for kept in _kept_topics(len(task.topics)) if known else ():
        topics = [task.topics[row] for row in kept]
        gold = pool.gold[np.ix_(kept, known)]
        scores = np.full(gold.shape, -np.inf, dtype=np.float32)
        for held in range(_FOLDS):
            columns = np.arange(held, len(known), _FOLDS)
            texts = np.array(known)[columns]
            seen = [[text for text in answered[row] if text not in texts] for row in kept]
            made = learned(topics, pool.texts, pool.gold[kept], seen)
            part = scoring.scored(pool.spans.rows(texts), made, gold[:, columns])
            scores[:, columns] = part.scores
        yield Scored(scores, scores, gold)


def _kept_topics(n_topics: int) -> Iterator[list[int]]:
    """The topics that are left if a part of them is left out, for each part; two at least."""
    parts = ([row for row in range(n_topics) if row % _FOLDS != fold] for fold in range(_FOLDS))
    yield from (kept for kept in parts if len(kept) > 1)


def _parts(
    data: TopicSet, wanted: Sequence[Sequence[TopicText]], encoder: TextEncoder, progress: Progress
) -> Iterator[Part]:
    """Parts of a set, with the best spans for its phrases, and for texts that may become some."""
    given = [text for topic in data.topics for text in topic.phrases]
    phrases = phrase_vectors(encoder, given, [one.text for one in data.labelled])
    for part in wanted:
        texts = [one.text for one in part]
        spans = best_spans(encoder, texts, phrases, f"{encoder.name}: {data.name}", progress)
        gold = [[one.topic == topic.name for one in part] for topic in data.topics]
        yield Part(texts, spans, np.array(gold, dtype=bool))


def _task(data: TopicSet, encoder: TextEncoder, progress: Progress) -> Task:
    """The test part, with the training part to label."""
    return Task(data.topics, *_parts(data, (data.labelled, data.documents), encoder, progress))


def _folds(data: TopicSet, encoder: TextEncoder, progress: Progress) -> Iterator[Task]:
    """The training part, half of it to label; some topics are left out, so that texts have none."""
    (training,) = _parts(data, (data.labelled,), encoder, progress)
    for kept in _kept_topics(len(data.topics)):
        topics = [data.topics[row] for row in kept]
        halves = (training.of(kept, slice(first, None, 2)) for first in (0, 1))
        yield Task(topics, *halves)


HARNESS = Harness(
    "topics",
    "Topics from a few phrases each: how well documents are ranked, and given their topics.\n\n"
    "Mean average precision, precision of the first ten, and macro F1 with one threshold for all "
    "topics, chosen on other sets (--tune), or with the best one for each; also after labels.",
    "Folder of Banking77, CLINC150 or Bitext's support intents, or JSON lines with text, topic "
    "(null for none) and part (train or test).",
    run,
)
