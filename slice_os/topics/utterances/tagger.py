"""The one topic of each text, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.encoder.alignment import AlignedText
from slice_os.encoder.span_encoder import PieceRange, SpanEncoder
from slice_os.errors import InputError
from slice_os.query.options import UTTERANCE_THRESHOLD
from slice_os.threads import one_blas_thread
from slice_os.topics.run import check_topics, wordings
from slice_os.topics.topic import Topic
from slice_os.topics.utterances.scores import (
    PhraseVectors,
    TextSpans,
    UtteranceScores,
    columns_of,
    text_spans,
    uncountered,
)

_BATCH = 256


@dataclass(frozen=True, slots=True)
class UtteranceTopic:
    """The topic of a text, and the runner-up.

    Attributes:
        topic: its topic; None if it has none, and then so are the fields up to ``phrase``.
        score: of the topic, as the threshold is one; no cosine.
        start: first code point of the span that is nearest to the topic.
        end: one past the last.
        text: the span itself, the code points ``start:end`` of the text.
        phrase: the phrase of the topic that this span is nearest to.
        runner_up: the best of the other topics; of all, if the text has none. None if
            counter-phrases rule them out, or the text has no word.
        runner_up_score: its score.
    """

    topic: str | None = None
    score: float | None = None
    start: int | None = None
    end: int | None = None
    text: str | None = None
    phrase: str | None = None
    runner_up: str | None = None
    runner_up_score: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """The topic as plain JSON types; floats are rounded to six decimals."""
        return {
            name: round(value, 6) if isinstance(value, float) else value
            for name, value in asdict(self).items()
        }


class UtteranceTagger:
    """Finds the one topic of texts that are about one thing; encodes the phrases once.

    It compares topics with each other. Their phrases and counter-phrases count, given and
    learned; their conditions, units and cuts do not.

    Args:
        topics: two or more.
        encoder: of the texts.
        threshold: least score of a text's topic.

    Raises:
        InputError: on fewer topics, two with one name, one without a phrase, or a threshold that
            is no number.
    """

    def __init__(
        self, topics: Sequence[Topic], encoder: SpanEncoder, threshold: float = UTTERANCE_THRESHOLD
    ) -> None:
        check_topics(topics)
        if len(topics) < 2:
            raise InputError(
                f"{topics[0].name!r} is the only topic; whole texts need two or more to choose from"
            )
        if not isfinite(threshold):
            raise InputError(f"threshold {threshold}: give a number")
        self._topics = tuple(topics)
        self._encoder = encoder
        self._threshold = threshold
        texts = wordings(topics)
        columns = {text: column for column, text in enumerate(texts)}
        self._phrases = PhraseVectors(columns, encoder.encode(texts))
        self._scores = UtteranceScores(topics, self._phrases)

    def tag(self, texts: Sequence[str]) -> list[UtteranceTopic]:
        """The topic of each text, in order.

        Texts of any length are read as a whole, in several passes of the model if they are long.

        Raises an `InputError` if a text has a lone surrogate.
        """
        if isinstance(texts, str):
            raise InputError(f"texts {texts!r:.50}: give a list of strings")
        batches = (texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH))
        return [found for batch in batches for found in self._tag(batch)]

    @one_blas_thread()
    def _tag(self, texts: Sequence[str]) -> list[UtteranceTopic]:
        aligned = [self._encoder.align(text) for text in texts]
        ranges = [PieceRange(one, 0, len(one.piece_ids)) for one in aligned]
        spans = [
            text_spans(one, vectors, self._phrases)
            for one, vectors in zip(aligned, self._encoder.encode_ranges(ranges), strict=True)
        ]
        cosines = np.stack([one.cosines for one in spans])
        scores = self._scores.of(cosines, np.stack([one.whole for one in spans]))
        scores[~uncountered(self._topics, self._phrases, cosines)] = -np.inf
        scores[:, [not len(one.words) for one in aligned]] = -np.inf
        return [
            self._told(one, of_text, own)
            for one, of_text, own in zip(aligned, spans, scores.T, strict=True)
        ]

    def _told(self, aligned: AlignedText, spans: TextSpans, scores: FloatArray) -> UtteranceTopic:
        """The topic with the best score if it reaches the threshold, and the next one."""
        ranked = np.argsort(-scores, kind="stable")[:2].tolist()
        possible = [number for number in ranked if isfinite(scores[number])]
        found = UtteranceTopic()
        if possible and scores[possible[0]] >= self._threshold:
            best = possible.pop(0)
            found = self._placed(aligned, spans, self._topics[best], float(scores[best]))
        if possible:
            name, score = self._topics[possible[0]].name, float(scores[possible[0]])
            found = replace(found, runner_up=name, runner_up_score=score)
        return found

    def _placed(
        self, aligned: AlignedText, spans: TextSpans, topic: Topic, score: float
    ) -> UtteranceTopic:
        """A topic with the best span for its phrases."""
        columns = columns_of(self._phrases, topic.all_phrases)
        nearest = int(spans.cosines[columns].argmax())
        first, words = spans.first[columns[nearest]], spans.words[columns[nearest]]
        start, end = int(aligned.words[first, 0]), int(aligned.words[first + words - 1, 1])
        text, phrase = aligned.text[start:end], topic.all_phrases[nearest]
        return UtteranceTopic(topic.name, score, start, end, text, phrase)
