"""BM25 in the local store, with the terms and the formula of Lucene's English analyser.

So a passage has the same BM25 here as in an OpenSearch index with default options.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import regex

from slice_os.arrays import FloatArray, IntArray

K1 = 1.2
B = 0.75
COARSE_FROM = 24
# Lucene's English stop words; all other words are stemmed, here by FTS5.
STOP_WORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their "  # noqa: SIM905
    "then there these they this to was will with".split()
)
# Approximately the words of Unicode's UAX #29, by which Lucene splits text: joiners keep letters
# or digits together ("o'neill", "3,000", "b.org"), a hyphen does not.
_RUN = r"[\p{L}\p{M}\p{Nd}_\u00AD]+"
_TERM = regex.compile(
    rf"""
      [\p{{Han}}\p{{Hiragana}}]
    | (?<!_) (?=_*[\p{{L}}\p{{Nd}}]) {_RUN}
      (?: (?: (?<=\p{{L}})['’.:·](?=\p{{L}}) | (?<=\p{{Nd}})['’.,;](?=\p{{Nd}}) ) {_RUN} )*
    """,
    regex.VERBOSE,
)
_POSSESSIVE = regex.compile(r"['’]s$")
_JOINER = regex.compile(r"['’.:·,;]")


def terms(text: str) -> list[str]:
    """The terms of a text in order, not yet stemmed; only letters, digits and ``_``."""
    words = (_POSSESSIVE.sub("", word.lower()) for word in _TERM.findall(text))
    return [_JOINER.sub("_", word) for word in words if word not in STOP_WORDS]


@dataclass(frozen=True, slots=True)
class TermCounts:
    """What BM25 needs to know about all passages.

    Attributes:
        lengths: ``(n_passages,)`` number of terms in each.
    """

    lengths: IntArray

    def frequencies(self, weights: FloatArray, rows: IntArray) -> FloatArray:
        """How often a term occurs in passages, computed back from FTS5's ``bm25()``.

        FTS5 offers no other way. Its formula differs from `bm25` in the inverse document
        frequency, which is almost zero for a term in half of the passages.

        Args:
            weights: ``(n,)`` negated ``bm25()``, of all passages with the term.
            rows: ``(n,)`` rows of these passages.
        """
        total, found = len(self.lengths), len(weights)
        idf = np.log((total - found + 0.5) / (found + 0.5))
        shares = weights / ((K1 + 1) * (idf if idf > 0 else 1e-6))
        norms = K1 * (1 - B + B * self.lengths[rows] / self.lengths.mean())
        frequencies: FloatArray = np.rint(shares * norms / (1 - shares))
        return frequencies

    def bm25(self, frequencies: FloatArray, rows: IntArray) -> FloatArray:
        """BM25 of one term, as Lucene's ``BM25Similarity`` computes it.

        Robertson and Zaragoza (2009), "The Probabilistic Relevance Framework", equation 3.15,
        without its constant factor k1 + 1, and with lengths as coarse as Lucene stores them.

        Args:
            frequencies: ``(n,)`` occurrences of the term, in all passages with the term.
            rows: ``(n,)`` rows of these passages.
        """
        found = len(frequencies)
        idf = np.log1p((self._with_terms - found + 0.5) / (found + 0.5))
        mean = self.lengths.sum() / self._with_terms
        norms = K1 * (1 - B + B * coarse(self.lengths[rows]) / mean)
        scores: FloatArray = (idf * frequencies / (frequencies + norms)).astype(np.float32)
        return scores

    @property
    def _with_terms(self) -> int:
        return int(np.count_nonzero(self.lengths))


def coarse(lengths: IntArray) -> IntArray:
    """Lengths as Lucene stores them in one byte: exact below 40, then four bits of precision."""
    rest = np.maximum(lengths - COARSE_FROM, 0)
    bits = np.frexp(rest.astype(np.float64))[1].astype(np.int64)
    shift = np.maximum(bits - 4, 0)
    return np.where(rest > 0, COARSE_FROM + ((rest >> shift) << shift), lengths)
