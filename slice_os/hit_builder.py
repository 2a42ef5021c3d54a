"""Building hits: the best spans of a passage, with their text, offsets and scores."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from slice_os.candidates import StoredPassage
from slice_os.documents import Metadata
from slice_os.page import PlacedSpan
from slice_os.places import Places, own_extent, passage_sentences, places_of
from slice_os.query import Query
from slice_os.results import Context, Hit
from slice_os.scoring import PassageScorer, span_offsets
from slice_os.words import find_words


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
        self._places = known_places(passage.encoded.metadata, self._context)

    def hits(
        self,
        row: int,
        *,
        bm25: float | None = None,
        score: float | None = None,
        threshold: float = -1.0,
        limit: int | None = None,
    ) -> Iterator[Hit]:
        """The hits of one phrase, by position; they never overlap.

        Args:
            row: the phrase's row in the query.
            bm25: of the passage for the phrase; None if there is no corpus to count terms in.
            score: of the passage for the phrase; None for the cosine of each span.
            threshold: least cosine of a hit.
            limit: at most that many hits, the best ones; None for all.
        """
        spans = self._scorer.best_spans(row, threshold, limit)
        for span in sorted(spans, key=lambda span: span.word):
            start, end = span_offsets(self._passage.encoded, span)
            yield Hit(
                phrase=self._query.phrases.texts[row],
                doc_id=self._passage.doc_id,
                start=start,
                end=end,
                text=self._passage.text[start - self._context.start : end - self._context.start],
                cosine=span.cosine,
                bm25=bm25,
                score=span.cosine if score is None else score,
                metadata=self._places.own_metadata(self._passage.encoded.metadata, start, end),
                context=self._context,
                probability=_probability(self._query, row, span.cosine, span.words),
                sentence=own_extent(self._places.sentences, start, end),
                turn=own_extent(self._places.turns, start, end),
            )


def placed_hit(span: PlacedSpan, query: Query) -> Hit:
    """The hit of a span that a store placed by itself."""
    places = known_places(span.metadata, span.passage)
    return Hit(
        phrase=query.phrases.texts[span.row],
        doc_id=span.doc_id,
        start=span.start,
        end=span.end,
        text=span.passage.text[span.start - span.passage.start : span.end - span.passage.start],
        cosine=span.cosine,
        bm25=span.bm25,
        score=span.score,
        metadata=places.own_metadata(span.metadata, span.start, span.end),
        context=span.passage,
        probability=_probability(query, span.row, span.cosine, span.words),
        sentence=own_extent(places.sentences, span.start, span.end),
        turn=own_extent(places.turns, span.start, span.end),
    )


def known_places(metadata: Metadata, passage: Context) -> Places:
    """What a passage knows of its words; the sentences are found if it does not know them.

    Args:
        metadata: of the passage.
        passage: its place and text.
    """
    places = places_of(metadata, passage.start)
    if places.sentences:
        return places
    return replace(places, sentences=passage_sentences(passage.text, passage.start))


def _probability(query: Query, row: int, cosine: float, words: int) -> float | None:
    """The probability that a span says the phrase; None if the model has no calibration."""
    if query.calibration is None:
        return None
    phrase_words = len(find_words(query.phrases.texts[row]))
    return float(query.calibration.probabilities(cosine, phrase_words, words))
