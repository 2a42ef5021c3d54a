"""Scores of passages for phrases, of the whole passage or of its best span."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import log
from typing import TypeAlias

import numpy as np

from slice_os.arrays import Float64Array, FloatArray, IntArray
from slice_os.datasets.span_sets import Span
from slice_os.evaluation.encoders.span_vectors import all_span_cosines, cosines
from slice_os.evaluation.encoders.text_encoder import Cost, TextEncoder
from slice_os.evaluation.harness import Progress, quiet, track
from slice_os.evaluation.sts_b_context.context_rows import ContextRow
from slice_os.text.words import find_words

K1 = 1.5
B = 0.75
EPSILON = 0.25


@dataclass(frozen=True, slots=True)
class Okapi:
    """BM25 (Robertson and Walker 1994) by the formula of ``BM25Okapi`` of rank-bm25.

    A term in more than half of the documents, whose idf would be negative, weighs `EPSILON`
    times the mean idf; a term in none weighs nothing. Lengths are in words.
    """

    idf: dict[str, float]
    mean_length: float

    @classmethod
    def of(cls, documents: Iterable[str]) -> Okapi:
        """The statistics of a corpus."""
        lengths = []
        containing: Counter[str] = Counter()
        for document in documents:
            terms = terms_of(document)
            lengths.append(len(terms))
            containing.update(set(terms))
        count = len(lengths)
        idf = {
            term: log(count - number + 0.5) - log(number + 0.5)
            for term, number in containing.items()
        }
        floor = EPSILON * sum(idf.values()) / max(1, len(idf))
        return cls(
            {term: weight if weight >= 0 else floor for term, weight in idf.items()},
            sum(lengths) / max(1, count),
        )

    def score(self, query: str, text: str) -> float:
        """BM25 of a whole text for a query."""
        terms = terms_of(text)
        return float(self.span_scores(query, text, len(terms))[0, -1]) if terms else 0.0

    def span_scores(self, query: str, text: str, max_words: int) -> FloatArray:
        """BM25 of every span of a text, each as if it were a document.

        Returns ``(n_words, max_words)``, by first word and number of words less one; ``-inf`` if
        the text is too short for a span.
        """
        terms = np.array(terms_of(text), dtype=object)
        firsts = np.arange(len(terms))[:, None]
        lengths = np.arange(1, max_words + 1)[None, :]
        ends = np.minimum(firsts + lengths, len(terms))
        penalty = K1 * (1 - B + B * lengths / self.mean_length)
        scores = np.zeros((len(terms), max_words))
        for term in terms_of(query):
            weight = self.idf.get(term, 0.0)
            seen = np.concatenate([[0], np.cumsum(terms == term)])
            counts = seen[ends] - seen[firsts]
            scores += weight * counts * (K1 + 1) / (counts + penalty)
        return np.where(firsts + lengths <= len(terms), scores, -np.inf)


def terms_of(text: str) -> list[str]:
    """The words of a text in lower case."""
    return [text[start:end].lower() for start, end in find_words(text).tolist()]


FULL, FORWARD, SINGLE = SETTINGS = ("full-context", "ngram-forward", "single-pass")
PASSAGES_AT_ONCE = 64

Best: TypeAlias = list[tuple[float, Span | None]]
"""Greatest score and its span, for each size."""


@dataclass(frozen=True, slots=True)
class Scores:
    """``(n_rows,)`` scores of one encoder in one setting, and places of the best spans.

    ``max_size`` is the number of words of the longest span; it and each place are None without
    spans. ``cost`` is that of encoding queries and passages.
    """

    encoder: str
    setting: str
    max_size: int | None
    values: Float64Array
    places: tuple[Span | None, ...]
    cost: Cost


def score_bm25(
    okapi: Okapi, rows: Sequence[ContextRow], setting: str, sizes: Sequence[int]
) -> Iterator[Scores]:
    """BM25 of the passages, or the greatest over their spans; there is no forward pass."""
    if setting == FULL:
        scores = np.array([okapi.score(row.query, row.passage) for row in rows])
        yield Scores("bm25", setting, None, scores, (None,) * len(rows), Cost())
        return
    best = []
    for row in rows:
        values = okapi.span_scores(row.query, row.passage, sizes[-1])
        best.append(_best_spans(find_words(row.passage), values, sizes))
    yield from _by_size("bm25", setting, sizes, best, Cost())


def score_encoder(
    encoder: TextEncoder,
    rows: Sequence[ContextRow],
    setting: str,
    sizes: Sequence[int],
    label: str = "",
    progress: Progress = quiet,
) -> Iterator[Scores]:
    """Cosines of the passages with their queries, or the greatest over their spans.

    There is one for each size; a single one in the setting without spans.
    """
    before = encoder.cost
    progress(label, 0, len(rows))
    encode = encoder.phrases if setting == SINGLE else encoder.sentences
    queries = encode([row.query for row in rows])
    if setting == FULL:
        values = cosines(queries, encode([row.passage for row in rows]))
        cost = encoder.cost - before
        yield Scores(encoder.name, setting, None, values, (None,) * len(rows), cost)
        return
    score = _single_pass if setting == SINGLE else _forward_per_ngram
    best = list(track(score(encoder, rows, queries, sizes), label, len(rows), progress))
    yield from _by_size(encoder.name, setting, sizes, best, encoder.cost - before)


def _single_pass(
    encoder: TextEncoder, rows: Sequence[ContextRow], queries: FloatArray, sizes: Sequence[int]
) -> Iterator[Best]:
    """Spans by their token vectors, from one forward pass per passage."""
    encoded = encoder.tokens([row.passage for row in rows])
    for query, (aligned, vectors) in zip(queries, encoded, strict=True):
        (values,) = all_span_cosines(
            encoder.representation, aligned, vectors, query[None], sizes[-1]
        )
        yield _best_spans(aligned.words, values, sizes)


def _forward_per_ngram(
    encoder: TextEncoder, rows: Sequence[ContextRow], queries: FloatArray, sizes: Sequence[int]
) -> Iterator[Best]:
    """Spans as separate texts; each distinct one of a block of passages is encoded once."""
    for start in range(0, len(rows), PASSAGES_AT_ONCE):
        block = rows[start : start + PASSAGES_AT_ONCE]
        words = [find_words(row.passage) for row in block]
        spans = [_spans(len(offsets), sizes[-1]) for offsets in words]
        ngrams = [
            [row.passage[offsets[first, 0] : offsets[last, 1]] for first, last in places]
            for row, offsets, places in zip(block, words, spans, strict=True)
        ]
        distinct = sorted({ngram for some in ngrams for ngram in some}, key=lambda n: (len(n), n))
        numbers = {ngram: number for number, ngram in enumerate(distinct)}
        vectors = encoder.sentences(distinct)
        for row, (some, offsets, places) in enumerate(zip(ngrams, words, spans, strict=True)):
            query = np.repeat(queries[start + row][None], len(some), axis=0)
            values = np.full((len(offsets), sizes[-1]), -np.inf)
            values[places[:, 0], places[:, 1] - places[:, 0]] = cosines(
                vectors[[numbers[ngram] for ngram in some]], query
            )
            yield _best_spans(offsets, values, sizes)


def _spans(n_words: int, max_size: int) -> IntArray:
    """``(n, 2)`` first and last word of every span."""
    first = np.repeat(np.arange(n_words), max_size)
    last = first + np.tile(np.arange(max_size), n_words)
    return np.column_stack([first, last])[last < n_words]


def _best_spans(words: IntArray, values: FloatArray, sizes: Sequence[int]) -> Best:
    """For each size the greatest value and its span; 0 if there is no word."""
    best: Best = []
    for size in sizes:
        if not len(words):
            best.append((0.0, None))
            continue
        first, extra = np.unravel_index(np.argmax(values[:, :size]), values[:, :size].shape)
        place = (int(words[first, 0]), int(words[first + extra, 1]))
        best.append((float(values[first, extra]), place))
    return best


def _by_size(
    name: str, setting: str, sizes: Sequence[int], best: Sequence[Best], cost: Cost
) -> Iterator[Scores]:
    for size, column in zip(sizes, zip(*best, strict=True), strict=True):
        values = np.array([value for value, _ in column])
        yield Scores(name, setting, size, values, tuple(place for _, place in column), cost)
