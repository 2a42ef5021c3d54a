"""Ranking the phrases of a document by their similarity to a query phrase (PiC, section 5.3)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slice_os.arrays import FloatArray
from slice_os.datasets.span_sets import Span
from slice_os.evaluation.encoders.base import TextEncoder
from slice_os.evaluation.encoders.in_context import phrases_in_context
from slice_os.evaluation.encoders.representations import cosines
from slice_os.evaluation.pic.data import PhraseQuestion
from slice_os.evaluation.pic.ngrams import Candidate, find_candidates, widen
from slice_os.evaluation.stats import Numbers

PHRASE, IN_CONTEXT, SINGLE_PASS = SETTINGS = ("phrase", "phrase-in-context", "single-pass")


@dataclass(frozen=True, slots=True)
class RankedPhrases:
    """The candidates of a question, best first.

    Attributes:
        candidates: spans of the document; with setting ``phrase``, one of each wording.
        scores: ``(n,)`` their cosines with the query.
        rank: of the first candidate worded as the answer, from 1.
    """

    candidates: tuple[Candidate, ...]
    scores: Numbers
    rank: int


def rank_phrases(encoder: TextEncoder, question: PhraseQuestion, setting: str) -> RankedPhrases:
    """Rank the n-grams of 2 and 3 words and the answer itself.

    Args:
        encoder: any encoder.
        question: the query phrase and its document.
        setting: ``phrase``: query and candidates each by themselves. ``phrase-in-context``:
            each candidate in its sentence, and the query in its place there, as in the
            authors' code; one pass per candidate. ``single-pass``: candidates from one pass over
            the document, the query by itself.

    Raises:
        InputError: if a phrase has no word, or the encoder has no token vectors.
    """
    text = question.context
    gold = widen(text, question.start, question.end)
    wording = _fold(text[slice(*gold)])
    candidates = find_candidates(text, [gold, *_occurrences(question)])
    if setting == PHRASE:
        one_each = {_fold(text[one.start : one.end]): one for one in reversed(candidates)}
        candidates = sorted(one_each.values(), key=lambda one: one.start)
        phrases = [text[one.start : one.end] for one in candidates]
        vectors = encoder.phrases([question.query, *phrases])
        queries, spans = vectors[:1], vectors[1:]
    elif setting == SINGLE_PASS:
        queries = encoder.phrases([question.query])
        places = [(one.start, one.end) for one in candidates]
        (spans,) = phrases_in_context(encoder, [text], [places])
    else:
        queries, spans = _in_sentences(encoder, question, candidates)
    scores = cosines(np.broadcast_to(queries, spans.shape), spans)
    order = np.argsort(-scores, kind="stable")
    ranked = tuple(candidates[index] for index in order)
    matches = (_fold(text[one.start : one.end]) == wording for one in ranked)
    rank = next(rank for rank, hit in enumerate(matches, start=1) if hit)
    return RankedPhrases(ranked, scores[order], rank)


def _in_sentences(
    encoder: TextEncoder, question: PhraseQuestion, candidates: Sequence[Candidate]
) -> tuple[FloatArray, FloatArray]:
    """For each candidate, the vector of the query in its place, and its own vector."""
    texts, places = [], []
    for one in candidates:
        texts.append(question.context[one.sentence_start : one.sentence_end])
        places.append([(one.start - one.sentence_start, one.end - one.sentence_start)])
    for text, ((start, end),) in zip(texts.copy(), places.copy(), strict=True):
        texts.append(text[:start] + question.query + text[end:])
        places.append([(start, start + len(question.query))])
    vectors = np.concatenate(phrases_in_context(encoder, texts, places))
    return vectors[len(candidates) :], vectors[: len(candidates)]


def _occurrences(question: PhraseQuestion) -> list[Span]:
    """All occurrences of the answer as whole words; in PSD there are two."""
    pattern = rf"(?<!\w){re.escape(question.answer)}(?!\w)"
    return [match.span() for match in re.finditer(pattern, question.context)]


def _fold(phrase: str) -> str:
    return " ".join(phrase.casefold().split())
