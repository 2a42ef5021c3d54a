"""Building hits: the best spans of a passage, with their text, offsets and scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from slice_os.hits.hit import Context, Hit, UnreadHit
from slice_os.query.nearer_counter import nearer_counter
from slice_os.query.options import CLAUSE, SENTENCE, SPAN
from slice_os.query.query import Query
from slice_os.spans.choice import Borders
from slice_os.spans.cosines import ScoredSpan
from slice_os.spans.passage_scorer import PassageScorer, span_offsets
from slice_os.spans.passages import word_vectors
from slice_os.stores.candidates import StoredPassage
from slice_os.text.clause_borders import border_scores, full_stops
from slice_os.text.extents import Extent, own_extent
from slice_os.text.passage_layout import PassageLayout, layout_of, passage_sentences
from slice_os.text.words import find_words

# Punctuation, and words such as "but" and "because".
CLAUSE_BORDER = 2.5


class HitBuilder:
    """Builds the hits of one passage, for any of the phrases of a query.

    Args:
        passage: the passage.
        query: what to look for.
    """

    def __init__(self, passage: StoredPassage, query: Query) -> None:
        self._passage = passage
        self._query = query
        self._scorer = PassageScorer(passage.encoded, query, passage.norms)
        self._context = Context(passage.encoded.start, passage.encoded.end, passage.text)

    def hits(
        self,
        row: int,
        *,
        bm25: float | None = None,
        score: float | None = None,
        cosine_weight: float = 0.0,
        threshold: float = -1.0,
        limit: int | None = None,
    ) -> Iterator[Hit]:
        """The hits of one phrase, by position; they never overlap.

        Words that are nearer to a counter-phrase are no hit.

        If several are in one clause, sentence or turn, and hits are as wide as these, only the
        best of them is one.

        Args:
            row: the phrase's row in the query.
            bm25: of the passage for the phrase; None if there is no corpus to count terms in.
            score: of the passage for the phrase; None for the cosine of each span.
            cosine_weight: of the cosine in that score, so that a hit after the best one is scored
                with its own cosine; 0 to give all hits the passage's score.
            threshold: least cosine of a hit.
            limit: at most that many hits, the best ones; None for all. One that is nearer to a
                counter-phrase takes its place among them.
        """
        chosen = self._chosen(row, threshold, limit)
        for shown, span in sorted(chosen, key=lambda pair: pair[0].start):
            start, end = span_offsets(self._passage.encoded, span)
            metadata = self._passage.encoded.metadata
            hit = Hit(
                phrase=self._query.phrases.texts[row],
                doc_id=self._passage.doc_id,
                start=shown.start,
                end=shown.end,
                text=self._context.text[
                    shown.start - self._context.start : shown.end - self._context.start
                ],
                cosine=span.cosine,
                bm25=bm25,
                score=span.cosine if score is None else score - cosine_weight * span.behind,
                metadata=self._layout.own_metadata(metadata, start, end),
                context=self._context,
                probability=_probability(self._query, row, span.cosine, span.words),
                sentence=own_extent(self._layout.sentences, start, end),
                turn=own_extent(self._layout.turns, start, end),
                span=None if self._query.unit == SPAN else Extent(start, end),
            )
            yield self._unread(hit, span) if self._query.word_vectors else hit

    def _chosen(
        self, row: int, threshold: float, limit: int | None
    ) -> list[tuple[Extent, ScoredSpan]]:
        """Spans of hits with what is shown around them, which never overlaps."""
        spans: Iterable[ScoredSpan] = self._scorer.best_spans(row, threshold, self._borders)
        if limit is None:
            spans = sorted(spans, key=lambda span: -span.cosine)
        chosen: list[tuple[Extent, ScoredSpan]] = []
        countered = 0
        for span in spans:
            shown = self._shown(span)
            if self._countered(span):
                countered += 1
            elif all(shown.end <= other.start or other.end <= shown.start for other, _ in chosen):
                chosen.append((shown, span))
            if countered + len(chosen) == limit:
                break
        return chosen

    @cached_property
    def _layout(self) -> PassageLayout:
        """What the passage knows of its words; sentences are found if it does not know them."""
        layout = layout_of(self._passage.encoded.metadata, self._context.start)
        if layout.sentences:
            return layout
        sentences = passage_sentences(self._context.text, self._context.start)
        return replace(layout, sentences=sentences)

    @cached_property
    def _borders(self) -> Borders:
        words = self._passage.encoded.words
        text, start = self._context.text, self._context.start
        sentence = np.searchsorted(self._layout.sentences, words[:, 0], side="right")
        hidden = np.searchsorted(full_stops(text), words[:, 0] - start, side="right")
        return Borders(border_scores().borders(text, words, start), sentence + hidden)

    def _unread(self, hit: Hit, span: ScoredSpan) -> UnreadHit:
        words = self._passage.encoded.words[span.word : span.word + span.words, 2:]
        return UnreadHit.of(hit, word_vectors(self._passage.encoded.vectors, words))

    def _countered(self, span: ScoredSpan) -> bool:
        """Whether a counter-phrase is nearer to a span than every phrase."""
        if self._query.counters is None:
            return False
        words = self._passage.encoded.words[span.word : span.word + span.words]
        vector = self._passage.encoded.vectors[words[0, 2] : words[-1, 3]].sum(axis=0)
        near = self._query.phrases.vectors @ vector
        return nearer_counter(near, self._query.counters @ vector) is not None

    def _shown(self, span: ScoredSpan) -> Extent:
        """The unit of the query around a span, as far as the passage goes."""
        start, end = span_offsets(self._passage.encoded, span)
        found: Extent | None = Extent(start, end)
        if self._query.unit == CLAUSE:
            found = self._clause(span)
        elif self._query.unit != SPAN:
            turn = own_extent(self._layout.turns, start, end)
            sentence = own_extent(self._layout.sentences, start, end)
            found = sentence if self._query.unit == SENTENCE or turn is None else turn
        if found is None:
            return Extent(start, end)
        return Extent(max(found.start, self._context.start), min(found.end, self._context.end))

    def _clause(self, span: ScoredSpan) -> Extent:
        """From the last border of a clause before the span to the first one after it."""
        words = self._passage.encoded.words
        first, end = clause_words(self._borders, span.word, span.word + span.words)
        return Extent(int(words[first, 0]), int(words[end - 1, 1]))


def clause_words(borders: Borders, first: int, end: int) -> tuple[int, int]:
    """The words from the last border of a clause before a span to the first one after it.

    Args:
        borders: of the passage.
        first: first word of the span.
        end: one past the last.
    """
    is_border = borders.scores >= CLAUSE_BORDER
    is_border[1:-1] |= np.diff(borders.sentence) != 0
    found = np.flatnonzero(is_border)
    return int(found[found <= first].max()), int(found[found >= end].min())


def _probability(query: Query, row: int, cosine: float, words: int) -> float | None:
    """The probability that a span says the phrase; None if the model has no calibration."""
    if query.calibration is None:
        return None
    phrase_words = len(find_words(query.phrases.texts[row]))
    return float(query.calibration.probabilities(cosine, phrase_words, words))
