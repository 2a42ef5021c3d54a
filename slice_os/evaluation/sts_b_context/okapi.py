"""Okapi BM25 with the formula of rank-bm25, and document statistics from any corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from math import log

import numpy as np

from slice_os.arrays import FloatArray
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

        Returns:
            ``(n_words, max_words)``; the last axis is the words of the span less one, with
            ``-inf`` if the text is too short for a span.
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
