"""Building hits: the best spans of a passage, with their text, offsets and scores."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property, lru_cache

import numpy as np

from slice_os.hits.hit import Context, Hit, HitWithVectors, overlap
from slice_os.query.options import SPAN
from slice_os.query.query import Query, nearer_counter
from slice_os.spans.choice import Borders, PassageScorer, span_offsets
from slice_os.spans.cosines import ScoredSpan
from slice_os.stores.candidates import StoredPassage
from slice_os.text.clause_borders import NEUTRAL, border_scores, full_stops
from slice_os.text.clause_words import meaning_of
from slice_os.text.clauses import Sentence
from slice_os.text.documents import ENGLISH, Extent, own_extent
from slice_os.text.passage_layout import PassageLayout, Reading, layout_of, passage_sentences
from slice_os.text.words import find_words

_CLOSING = re.compile(r"[\"”’']?\)")


class HitBuilder:
    """Builds the hits of one passage, for any of the phrases of a query."""

    def __init__(self, passage: StoredPassage, query: Query) -> None:
        self._passage = passage
        self._query = query
        self._scorer = PassageScorer(passage.encoded, query, passage.norms)
        self._context = Context(passage.encoded.start, passage.encoded.end, passage.text)
        self._sentences: dict[tuple[int, int], Sentence] = {}

    def hits(
        self,
        row: int,
        *,
        bm25: float | None = None,
        score: float | None = None,
        cosine_weight: float = 0.0,
        threshold: float = -1.0,
        limit: int | None = None,
    ) -> list[Hit]:
        """The hits of one phrase, by position; they never overlap.

        A span that is nearer to a counter-phrase is no hit, nor is another one in its clause. Of
        several spans in one clause, sentence or turn, if hits are that wide, the best is one.

        Args:
            row: of the phrase in the query.
            bm25: of the passage for the phrase; None if there is no corpus to count terms in.
            score: of the passage for the phrase; None for the cosine of each span.
            cosine_weight: of the cosine in that score, so that a hit after the best one is scored
                with its own cosine; 0 to give all hits the passage's score.
            threshold: least cosine of a hit.
            limit: at most that many hits, the best ones; None for all. A span that is nearer to a
                counter-phrase takes a hit's place among them.
        """
        chosen: list[Hit] = []
        countered: list[Hit] = []
        for span in self._scorer.best_spans(row, threshold, self._borders):
            own = span.cosine if score is None else score - cosine_weight * span.behind
            whole = self._hit(row, span, bm25, own).widened(SPAN)
            if self._countered(span):
                countered.append(whole)
            elif not any(overlap(whole, other) for other in countered):
                unit = self._query.unit
                hit = whole if unit == SPAN else whole.widened(unit)
                if not any(overlap(hit, other) for other in chosen):
                    chosen.append(hit)
            if len(countered) + len(chosen) == limit:
                break
        return sorted(chosen, key=lambda hit: hit.start)

    def _hit(self, row: int, span: ScoredSpan, bm25: float | None, score: float) -> Hit:
        passage = self._passage.encoded
        own = self._bracketed(*span_offsets(passage, span))
        start, end = own.start, own.end
        hit = Hit(
            phrase=self._query.phrases.texts[row],
            doc_id=self._passage.doc_id,
            start=start,
            end=end,
            text=self._context.text[start - passage.start : end - passage.start],
            cosine=span.cosine,
            bm25=bm25,
            score=score,
            metadata=self._layout.own_metadata(passage.metadata, start, end),
            passage=self._context,
            probability=self._probability(row, span),
            clause=None if self._foreign else self._clause(row, span),
            sentence=own_extent(self._layout.sentences, start, end),
            turn=own_extent(self._layout.turns, start, end),
        )
        if not self._query.word_vectors:
            return hit
        return HitWithVectors.of(
            hit,
            vectors=passage.vectors,
            words=passage.words,
            first=span.word,
            last=span.word + span.words,
            reading=self._reading,
            language=self._layout.language,
        )

    @property
    def _foreign(self) -> bool:
        """Whether rules of English do not apply."""
        return self._layout.language != ENGLISH

    @cached_property
    def _layout(self) -> PassageLayout:
        """The stored layout of the passage; sentences are split here if it has none."""
        layout = layout_of(self._passage.encoded.metadata, self._context.start)
        if layout.sentences:
            return layout
        sentences = passage_sentences(self._context.text, self._context.start)
        return replace(layout, sentences=sentences)

    @cached_property
    def _reading(self) -> Reading:
        return self._layout.reading(self._context.text)

    @cached_property
    def _borders(self) -> Borders:
        passage, reading = self._passage.encoded, self._reading
        words = reading.inner(passage.words[:, :2] - passage.start)
        sentence = np.searchsorted(self._layout.sentences, passage.words[:, 0], side="right")
        hidden = np.searchsorted(full_stops(reading.text), words[:, 0], side="right")
        scores = NEUTRAL if self._foreign else border_scores()
        return Borders(scores.borders(reading.text, words), sentence + hidden)

    def _countered(self, span: ScoredSpan) -> bool:
        if self._query.counters is None:
            return False
        words = self._passage.encoded.words[span.word : span.word + span.words]
        vector = self._passage.encoded.vectors[words[0, 2] : words[-1, 3]].sum(axis=0)
        near = self._query.phrases.vectors @ vector
        return nearer_counter(near, self._query.counters @ vector) is not None

    def _clause(self, row: int, span: ScoredSpan) -> Extent:
        borders, last = self._borders, span.word + span.words - 1
        first = int(np.searchsorted(borders.sentence, borders.sentence[span.word]))
        stop = int(np.searchsorted(borders.sentence, borders.sentence[last], side="right"))
        if (first, stop) not in self._sentences:
            self._sentences[first, stop] = self._sentence(first, stop)
        meaning = meaning_of(self._query.phrases.texts[row])
        sentence = self._sentences[first, stop]
        begin, end = sentence.clause(span.word - first, last + 1 - first, meaning)
        start, stop = self._passage.encoded.words[[first + begin, first + end - 1], [0, 1]].tolist()
        return self._bracketed(start, stop)

    def _bracketed(self, start: int, end: int) -> Extent:
        """Words, and the bracket before or behind them that belongs to one among them."""
        text, begin = self._context.text, self._context.start
        opens, closes = start - begin, end - begin
        unclosed = text.count("(", opens, closes) - text.count(")", opens, closes)
        if unclosed > 0 and (bracket := _CLOSING.match(text, closes)):
            closes = bracket.end()
        if unclosed < 0 and text.endswith("(", 0, opens):
            opens -= 1
        return Extent(begin + opens, begin + closes)

    def _sentence(self, first: int, stop: int) -> Sentence:
        """The words ``first:stop``."""
        borders, text, start = self._borders, self._context.text, self._context.start
        starts, ends = (self._passage.encoded.words[first:stop, :2] - start).T.tolist()
        # A bracket may open before the first word.
        before = [max(0, starts[0] - 2), *ends]
        return Sentence(
            [text[one:other] for one, other in zip(starts, ends, strict=True)],
            [text[one:other] for one, other in zip(before, [*starts, ends[-1]], strict=True)],
            borders.scores[first : stop + 1].tolist(),
            borders.sentence[first:stop].tolist(),
        )

    def _probability(self, row: int, span: ScoredSpan) -> float | None:
        calibration = self._query.calibration
        if calibration is None or (self._foreign and calibration.english):
            return None
        phrase_words = _word_count(self._query.phrases.texts[row])
        return float(calibration.probabilities(span.cosine, phrase_words, span.words))


@lru_cache(1_000)
def _word_count(phrase: str) -> int:
    return len(find_words(phrase))
