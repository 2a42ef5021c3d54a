"""Hits as wide as their topic wants them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from slice_os.hits.hit import Hit
from slice_os.query.options import CLAUSE, SENTENCE, SPAN
from slice_os.search.hit_builder import clause_words
from slice_os.spans.choice import Borders
from slice_os.text.clause_borders import border_scores
from slice_os.text.extents import Extent
from slice_os.text.passage_layout import passage_sentences
from slice_os.text.words import find_words, touched_words


def widened(hit: Hit, unit: str) -> Hit:
    """A hit with the text and offsets of the unit around its span, as far as its passage goes."""
    if unit in ("", SPAN) or hit.span is not None:
        return hit
    context = hit.context
    if unit == CLAUSE:
        wide = _clause(hit)
    elif unit == SENTENCE or hit.turn is None:
        wide = hit.sentence
    else:
        wide = hit.turn
    if wide is None:
        return hit
    start, end = max(wide.start, context.start), min(wide.end, context.end)
    text = context.text[start - context.start : end - context.start]
    return replace(hit, start=start, end=end, text=text, span=Extent(hit.start, hit.end))


def _clause(hit: Hit) -> Extent | None:
    """From the last border of a clause before the span to the first one after it."""
    context = hit.context
    words = find_words(context.text) + context.start
    first, end = touched_words(words, hit.start, hit.end)
    if first == end:
        return None
    sentence = np.searchsorted(
        passage_sentences(context.text, context.start), words[:, 0], side="right"
    )
    scores = border_scores().borders(context.text, words, context.start)
    first, end = clause_words(Borders(scores, sentence), first, end)
    return Extent(int(words[first, 0]), int(words[end - 1, 1]))
