"""Learning topics from labels, as a person would give them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.encoder.span_encoder import SpanEncoder
from slice_os.evaluation.topics.topic_scores import Flags
from slice_os.topics.labels import Label
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
        phrases = (label.text for label in labels if _plain(label.text) in made.phrases)
        against = (label.text for label in labels if _plain(label.text) in made.counter_phrases)
        return Topic(
            topic.name,
            tuple(dict.fromkeys((*topic.phrases, *phrases))),
            counter_phrases=tuple(dict.fromkeys(against)),
            threshold=made.threshold,
        )

    return learner


def _plain(text: str) -> str:
    return " ".join(text.split())


def asked_about(scores: FloatArray, threshold: float, n_labels: int) -> Answers:
    """The texts that a person is asked about: the least certain, nearest to the threshold."""
    order = np.argsort(np.abs(scores - threshold), axis=1, kind="stable")
    return tuple(map(tuple, order[:, :n_labels].tolist()))


def learned(
    topics: Sequence[Topic],
    texts: Sequence[str],
    gold: Flags,
    answers: Answers,
    learner: Learner = add_labels,
) -> list[Topic]:
    """Topics after a person has answered, by ``(n_topics, n_texts)`` gold, about some texts."""
    return [
        learner(topic, [Label(topic.name, texts[place], bool(right[place])) for place in asked])
        for topic, right, asked in zip(topics, gold, answers, strict=True)
    ]
