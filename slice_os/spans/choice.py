"""Choosing the spans of a passage that become hits: by cosine, at the borders of clauses.

The span of the highest cosine often takes a word of the next clause along, or stops before the
last of its own. Among spans of nearly the same cosine that overlap it, the one at better borders
is chosen, and one within a sentence before one across sentences.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from slice_os.arrays import FloatArray, IntArray
from slice_os.query.query import Query
from slice_os.spans.cosines import ScoredSpan, span_cosines, span_norms
from slice_os.spans.passages import EncodedPassage
from slice_os.threads import one_blas_thread

# Chosen with benchmarks/hit_borders.py --tune, on other dialogues and contracts than it measures.
SENTENCE_MARGIN = 0.1
BORDER_MARGIN = 0.16
BORDER_WEIGHT = 0.045
# Better borders count as this one, so that spans do not grow as far as the next punctuation.
GOOD_BORDER = 1.0


@dataclass(frozen=True, slots=True)
class Borders:
    """The borders of a passage's clauses and sentences.

    Attributes:
        scores: ``(n_words + 1,)`` of a border before each word, and after the last; see
            `slice_os.text.clause_borders`.
        sentence: ``(n_words,)`` number of each word's sentence.
    """

    scores: FloatArray
    sentence: IntArray


@dataclass(frozen=True, slots=True)
class _Spans:
    """Spans ``words:ends`` and their cosines, each ``(n_spans,)``."""

    words: IntArray
    ends: IntArray
    cosines: FloatArray

    def __getitem__(self, chosen: npt.NDArray[np.bool_]) -> _Spans:
        return _Spans(self.words[chosen], self.ends[chosen], self.cosines[chosen])

    def one(self, number: int) -> ScoredSpan:
        word, end = int(self.words[number]), int(self.ends[number])
        return ScoredSpan(word, end - word, float(self.cosines[number]))

    def beside(self, span: ScoredSpan) -> _Spans:
        """Those that do not overlap a span."""
        return self[(self.words >= span.word + span.words) | (self.ends <= span.word)]


def select_spans(
    cosines: FloatArray, threshold: float = -1.0, min_words: int = 1, borders: Borders | None = None
) -> Iterator[ScoredSpan]:
    """The best spans that do not overlap (greedy non-maximum suppression).

    Every span at or above the threshold is chosen, or overlaps one that is.

    Args:
        cosines: ``(n_words, max_words)`` from `span_cosines`, of one passage.
        threshold: least cosine of a span.
        min_words: words in the shortest span.
        borders: of the passage; None to choose by cosine alone.

    Yields spans by falling cosine of the best span that each stands for; equal cosines by position,
    then by length. The first one costs little.
    """
    counted = cosines[:, min_words - 1 :]
    near = _near_best(counted, threshold, min_words)
    if near is None:
        return
    best = float(near.cosines[0])
    span = near.one(_at_borders(near, borders))
    yield span
    found = _in_order(counted, threshold, min_words).beside(span)
    while len(found.words):
        span = found.one(_at_borders(found, borders))
        yield replace(span, behind=best - span.cosine)
        found = found.beside(span)


def _near_best(counted: FloatArray, threshold: float, min_words: int) -> _Spans | None:
    """The best span and those nearly as good that overlap it, in the order of `select_spans`."""
    if not counted.size:
        return None
    word, extra = divmod(int(counted.argmax()), counted.shape[1])
    best = counted[word, extra]
    if best < threshold or best == -np.inf:
        return None
    first = max(0, word - counted.shape[1] - min_words + 2)
    least = max(threshold, float(best) - SENTENCE_MARGIN - BORDER_MARGIN)
    return _in_order(counted[: word + extra + min_words], least, min_words, first)


def _in_order(counted: FloatArray, threshold: float, min_words: int, first: int = 0) -> _Spans:
    """The spans at or above a threshold, from a word on, in the order of `select_spans`."""
    words, extras = np.nonzero(counted[first:] >= threshold)
    words += first
    values = counted[words, extras]
    order = np.lexsort((extras, words, -values))
    return _Spans(words[order], (words + extras + min_words)[order], values[order])


def _at_borders(found: _Spans, borders: Borders | None) -> int:
    """The number of the span that replaces the first one, which has the best cosine."""
    if borders is None:
        return 0
    near = (found.words < found.ends[0]) & (found.ends > found.words[0])
    sentence = borders.sentence
    best = found.cosines[0]
    whole = near & (sentence[found.words] == sentence[found.ends - 1])
    first = int(whole.argmax())
    if whole[first] and found.cosines[first] >= best - SENTENCE_MARGIN:
        near, best = whole, found.cosines[first]
    rows = np.flatnonzero(near & (found.cosines >= best - BORDER_MARGIN))
    scores = np.minimum(borders.scores, GOOD_BORDER)
    ends = scores[found.words[rows]] + scores[found.ends[rows]]
    return int(rows[(found.cosines[rows] + BORDER_WEIGHT * ends).argmax()])


class PassageScorer:
    """Scores one passage for every phrase of a query.

    The span norms depend on the passage alone, so all phrases share them. A store may keep them.

    Attributes:
        norms: ``(n_words, query.max_words)`` lengths of the summed span vectors; see `span_norms`.
    """

    def __init__(
        self, passage: EncodedPassage, query: Query, norms: FloatArray | None = None
    ) -> None:
        self._vectors = passage.vectors
        self._layout = passage.layout
        self._query = query
        if norms is None:
            with one_blas_thread():
                norms = span_norms(passage.vectors, self._layout, query.max_words)
        self.norms: FloatArray = norms[:, : query.max_words]

    @one_blas_thread()
    def best_cosines(self) -> FloatArray:
        """``(n_phrases,)`` best cosines over all spans; ``-inf`` if none is long enough."""
        products = self._vectors @ self._query.phrases.vectors.T
        best = [
            span_cosines(column, self._layout, self.norms)[:, self._query.min_words - 1 :].max()
            for column in products.T
        ]
        return np.array(best, dtype=np.float32)

    @one_blas_thread()
    def best_spans(
        self, row: int, threshold: float = -1.0, borders: Borders | None = None
    ) -> Iterator[ScoredSpan]:
        """The best spans for the phrase in a row of the query; see `select_spans`."""
        products: FloatArray = self._vectors @ self._query.phrases.vectors[row]
        cosines = span_cosines(products, self._layout, self.norms)
        return select_spans(cosines, threshold, self._query.min_words, borders)


def span_offsets(passage: EncodedPassage, span: ScoredSpan) -> tuple[int, int]:
    """First code point of a span in the document's text, and one past the last."""
    words = passage.words[span.word : span.word + span.words]
    return int(words[0, 0]), int(words[-1, 1])
