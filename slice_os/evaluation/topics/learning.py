"""What topics learn from labels, as a person would give them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.evaluation.topics.measures import Flags
from slice_os.evaluation.topics.scoring import PhraseTopic


@dataclass(frozen=True, slots=True)
class TopicLabel:
    """Whether a text has a topic."""

    text: str
    right: bool


Learner: TypeAlias = Callable[[PhraseTopic, Sequence[TopicLabel]], PhraseTopic]
"""Makes a topic of a topic and labels of texts; its phrases come from either."""


def add_labels(topic: PhraseTopic, labels: Sequence[TopicLabel]) -> PhraseTopic:
    """Right texts become phrases, and wrong ones counter-phrases."""
    right = (label.text for label in labels if label.right)
    phrases = tuple(dict.fromkeys((*topic.phrases, *right)))
    wrong = (label.text for label in labels if not label.right and label.text not in phrases)
    counter_phrases = tuple(dict.fromkeys((*topic.counter_phrases, *wrong)))
    return replace(topic, phrases=phrases, counter_phrases=counter_phrases)


def learned(
    topics: Sequence[PhraseTopic],
    texts: Sequence[str],
    scores: FloatArray,
    gold: Flags,
    threshold: float,
    n_labels: int,
    learn: Learner = add_labels,
) -> list[PhraseTopic]:
    """Topics after labels for the texts that are least certain, nearest to the threshold.

    Args:
        topics: the topics.
        texts: which a person may be asked about.
        scores: ``(n_topics, n_texts)``.
        gold: ``(n_topics, n_texts)`` what the person answers.
        threshold: of the scores.
        n_labels: answers for each topic.
        learn: what is done with them.
    """
    found = []
    for topic, row, right in zip(topics, scores, gold, strict=True):
        asked = np.argsort(np.abs(row - threshold), kind="stable")[:n_labels].tolist()
        labels = [TopicLabel(texts[place], bool(right[place])) for place in asked]
        found.append(learn(topic, labels))
    return found
