"""Whole texts and topics: the best span for each phrase, and scores from the cosines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from slice_os.arrays import Float64Array, FloatArray, IntArray
from slice_os.encoder.alignment import AlignedText
from slice_os.topics.topic import Topic

MAX_WORDS = 20
# Sums over longer stretches would need more memory, and lose digits.
_BLOCK_WORDS = 1_024
_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class PhraseVectors:
    """The row of each phrase in ``(n_phrases, dimension)`` unit vectors."""

    columns: Mapping[str, int]
    vectors: FloatArray


@dataclass(frozen=True, slots=True)
class TextSpans:
    """The best span of a text for each phrase, and the whole text.

    Attributes:
        cosines: ``(n_phrases,)`` of the best span; -1 if the text has no word.
        first: ``(n_phrases,)`` first word of that span.
        words: ``(n_phrases,)`` number of words of that span.
        whole: ``(n_phrases,)`` cosines of the whole text; 0 if it has no word.
    """

    cosines: FloatArray
    first: IntArray
    words: npt.NDArray[np.uint8]
    whole: FloatArray


def text_spans(aligned: AlignedText, vectors: FloatArray, phrases: PhraseVectors) -> TextSpans:
    """Compare every span of up to 20 words, and the whole text, with every phrase.

    Of spans with the same cosine the shortest counts, and of these the first. ``vectors`` are the
    ``(n_pieces, dimension)`` token vectors of the text.
    """
    words = aligned.words
    cosines = np.full(len(phrases.vectors), -1, dtype=np.float32)
    start = np.zeros(len(cosines), dtype=np.int64)
    length = np.ones(len(cosines), dtype=np.uint8)
    if not len(words):
        return TextSpans(cosines, start, length, np.zeros_like(cosines))
    for opening in range(0, len(words), _BLOCK_WORDS):
        block = words[opening : opening + _BLOCK_WORDS + MAX_WORDS - 1]
        for number, found in enumerate(_span_cosines(vectors, block, phrases.vectors), start=1):
            places = found.argmax(axis=0)
            nearest = found[places, np.arange(len(cosines))]
            better = nearest > cosines
            cosines[better] = nearest[better]
            start[better] = opening + places[better]
            length[better] = number
    mean = vectors.mean(axis=0)
    whole = phrases.vectors @ (mean / max(float(np.linalg.norm(mean)), _TINY))
    return TextSpans(cosines, start, length, whole)


def _span_cosines(
    vectors: FloatArray, words: IntArray, phrases: FloatArray
) -> Iterator[FloatArray]:
    """``(n_spans, n_phrases)`` cosines of spans of one word, of two, and so on to 20."""
    opening = words[0, 2]
    own = vectors[opening : words[-1, 3]]
    products, sums = _sums(own @ phrases.T), _sums(own)
    for length in range(1, min(len(words), MAX_WORDS) + 1):
        first = words[: len(words) - length + 1, 2] - opening
        last = words[length - 1 :, 3] - opening
        norms = np.linalg.norm(sums[last] - sums[first], axis=1, keepdims=True)
        yield (products[last] - products[first]) / np.maximum(norms, _TINY)


def _sums(values: FloatArray) -> FloatArray:
    """Sums of the rows before each row, and of all."""
    sums = np.zeros((len(values) + 1, values.shape[1]), dtype=np.float32)
    values.cumsum(axis=0, out=sums[1:])
    return sums


# Chosen on the training parts of Banking77 and Bitext's support intents, as
# docs/notebook/2026-11-topics.md tells.
NEIGHBOURS, NORMALISED, SHARPNESS = 5, 0.5, 10.0
WHOLE, MARGIN = 0.7, 0.3
REGRESSED, RIDGE = 0.2, 0.1


class UtteranceScores:
    """Scores of topics for texts; what depends on the topics alone is computed once.

    The score of a text for a phrase is the cosine of its best span and, with more weight, that of
    the whole text, because words outside the span count against it; it is lower where the phrase
    is near phrases of other topics. A topic has the soft maximum over its phrases, plus a
    regression on the phrases of all topics, less a share of the best score of another topic.

    Of each topic, phrases and counter-phrases count, given and learned; ``phrases`` has vectors of
    at least these. ``regressed`` is the weight of the regression; 0 for none.
    """

    def __init__(
        self, topics: Sequence[Topic], phrases: PhraseVectors, regressed: float = REGRESSED
    ) -> None:
        self._columns = [columns_of(phrases, one.all_phrases) for one in topics]
        self._levels = phrase_levels(topics, phrases)
        self._regressed = regressed
        self._weights = regression(topics, phrases) if regressed else None

    def of(self, cosines: FloatArray, whole: FloatArray) -> FloatArray:
        """``(n_topics, n_texts)`` scores; see `uncountered` for the topics that texts cannot have.

        Both arguments are ``(n_texts, n_phrases)``: of the best span, and of the whole text.
        """
        both = (1 - WHOLE) * cosines + WHOLE * whole
        values = both - NORMALISED * self._levels
        scores = np.stack([soft_best(values[:, columns]) for columns in self._columns])
        if self._weights is not None:
            scores = scores + self._regressed * (whole @ self._weights).T.astype(np.float32)
        return scores - MARGIN * _best_other(scores)


def uncountered(
    topics: Sequence[Topic], phrases: PhraseVectors, cosines: FloatArray
) -> npt.NDArray[np.bool_]:
    """``(n_topics, n_texts)`` whether no counter-phrase is nearer than every phrase.

    The cosines are the ``(n_texts, n_phrases)`` of the best span for each.
    """
    allowed = np.ones((len(topics), len(cosines)), dtype=bool)
    for row, one in enumerate(topics):
        if one.all_counter_phrases:
            against = cosines[:, columns_of(phrases, one.all_counter_phrases)].max(axis=1)
            own = cosines[:, columns_of(phrases, one.all_phrases)].max(axis=1)
            allowed[row] = own >= against
    return allowed


def soft_best(values: FloatArray) -> FloatArray:
    """Between the best phrase and the mean of all: several good ones count for more than one."""
    soft: FloatArray = np.log(np.exp(SHARPNESS * values).mean(axis=1)) / SHARPNESS
    return soft


def phrase_levels(topics: Sequence[Topic], phrases: PhraseVectors) -> FloatArray:
    """``(n_phrases,)`` mean cosine of each phrase with the five nearest ones of other topics.

    A phrase that is near to many things says less, as in cross-domain similarity local scaling
    (Conneau et al. 2018). It is 0 for what is no topic's phrase.
    """
    columns = [columns_of(phrases, one.all_phrases) for one in topics]
    of_all = np.concatenate(columns)
    owner = np.repeat(np.arange(len(columns)), [len(some) for some in columns])
    vectors = phrases.vectors[of_all]
    similar = vectors @ vectors.T
    similar[owner[:, None] == owner] = -np.inf
    nearest = np.sort(similar, axis=1)[:, -NEIGHBOURS:]
    others = np.isfinite(nearest)
    levels = np.zeros(len(phrases.vectors), dtype=np.float32)
    levels[of_all] = np.where(others, nearest, 0).sum(axis=1) / np.maximum(others.sum(axis=1), 1)
    return levels


def regression(topics: Sequence[Topic], phrases: PhraseVectors) -> Float64Array:
    """``(n_phrases, n_topics)`` weights of a ridge regression on the vectors of whole texts.

    Its examples are the phrases of all topics, 1 for their own and 0 for the others, and the
    counter-phrases that are nobody's phrase, 0 for all. It is the dual form, so that cosines of
    phrases and texts are all it needs (Saunders et al. 1998).
    """
    own = {text for one in topics for text in one.all_phrases}
    against = {text for one in topics for text in one.all_counter_phrases} - own
    columns = columns_of(phrases, [*sorted(own), *sorted(against)])
    rows = {text: row for row, text in enumerate(sorted(own))}
    targets = np.zeros((len(columns), len(topics)))
    for number, one in enumerate(topics):
        targets[[rows[text] for text in one.all_phrases], number] = 1
    vectors = phrases.vectors[columns]
    similar = vectors @ vectors.T + RIDGE * np.eye(len(columns))
    weights = np.zeros((len(phrases.vectors), len(topics)))
    weights[columns] = np.linalg.solve(similar, targets)
    return weights


def columns_of(phrases: PhraseVectors, texts: Sequence[str]) -> IntArray:
    """The columns of some of the phrases."""
    return np.array([phrases.columns[text] for text in texts], dtype=np.int64)


def _best_other(scores: FloatArray) -> FloatArray:
    """The best score of another topic, for each topic and text."""
    first = scores.argmax(axis=0)
    second, best = np.sort(scores, axis=0)[-2:]
    others: FloatArray = np.where(np.arange(len(scores))[:, None] == first, second, best)
    return others
