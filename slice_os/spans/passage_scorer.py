"""Exact scores of one passage, from its token vectors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.query.query import Query
from slice_os.spans.choice import Borders, select_spans
from slice_os.spans.cosines import ScoredSpan, span_cosines, span_norms
from slice_os.spans.passages import EncodedPassage
from slice_os.threads import one_blas_thread


class PassageScorer:
    """Scores one passage for every phrase of a query.

    The span norms depend on the passage alone, so all phrases share them. A store may keep them.

    Attributes:
        norms: ``(n_words, query.max_words)`` lengths of the summed span vectors; see `span_norms`.
    """

    @one_blas_thread()
    def __init__(
        self, passage: EncodedPassage, query: Query, norms: FloatArray | None = None
    ) -> None:
        self._vectors = passage.vectors
        self._layout = passage.layout
        self._query = query
        self.norms: FloatArray = (
            span_norms(passage.vectors, passage.layout, query.max_words)
            if norms is None
            else norms[:, : query.max_words]
        )

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
