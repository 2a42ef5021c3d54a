"""Ranking the phrases of a document by their similarity to a query phrase (PiC, section 5.3).

Candidates are n-grams of tokens within sentences. Tokens follow the conventions of the Penn
Treebank, as NLTK's word tokenizer does: punctuation is separate, contractions are split
(``do n't``, ``bank 's``), hyphens and inner full stops stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import regex

from slice_os.arrays import Float64Array, FloatArray
from slice_os.datasets.span_sets import Span
from slice_os.errors import InputError
from slice_os.evaluation.encoders.span_vectors import cosines, phrases_in_context
from slice_os.evaluation.encoders.text_encoder import TextEncoder
from slice_os.evaluation.pic.phrase_files import PhraseQuestion
from slice_os.labels.label import folded
from slice_os.text.passage_layout import passage_sentences
from slice_os.text.words import find_words, touched_words

_TOKEN = regex.compile(
    r"""
      \.{3} | -{2,}
    | n't\b | '(?:s|m|d|ll|re|ve)\b
    | \p{L}+? (?=n't\b)
    | (?:   [\w/+=\\~^*|`]
          | \.(?!\.\.)
          | (?<!-)-(?!-)
          | (?<=\d)[,:](?=\d)
          | (?<=\w)'(?!(?:s|m|d|ll|re|ve)\b)(?=\w)
      )+
    | \S
    """,
    regex.VERBOSE | regex.IGNORECASE,
)
SIZES = (2, 3)
_CLOSING = regex.compile(r"""[\]\)}>"'»”’\s]*""")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A phrase of a document and the sentence around it, as half-open code points."""

    start: int
    end: int
    sentence_start: int
    sentence_end: int


def find_tokens(sentence: str) -> list[Span]:
    """Offsets of the tokens of one sentence; its final full stop is a token."""
    tokens = [match.span() for match in _TOKEN.finditer(sentence)]
    for index in reversed(range(len(tokens))):
        start, end = tokens[index]
        if sentence[end - 1] == "." and end - start > 1 and sentence[end - 2] != ".":
            tokens[index : index + 1] = [(start, end - 1), (end - 1, end)]
        if not _CLOSING.fullmatch(sentence, start, end):
            break
    return tokens


def find_sentences(text: str) -> list[Span]:
    """Offsets of the sentences of a text, without the white space around them."""
    edges = passage_sentences(text, 0)
    return list(zip(edges[::2], edges[1::2], strict=True))


def find_candidates(text: str, golds: Iterable[Span] = ()) -> list[Candidate]:
    """The 2- and 3-grams of a document and its gold phrases of any length, in order, each once.

    Each is widened to whole words, since spans consist of words. N-grams that begin or end with
    punctuation, or that are only one word once widened ("bank 's"), are skipped. A gold phrase
    that crosses a sentence end belongs to all the sentences that it touches.
    """
    words = find_words(text)
    sentences = find_sentences(text)
    found = {}
    for sentence in sentences:
        for start, end in _ngrams(text, sentence):
            first, behind = touched_words(words, start, end)
            if behind - first > 1:
                place = int(words[first, 0]), int(words[behind - 1, 1])
                found[place] = Candidate(*place, *sentence)
    for start, end in golds:
        place = widen(text, start, end)
        around = [s for s in sentences if s[0] < end and start < s[1]]
        found[place] = Candidate(*place, around[0][0], around[-1][1])
    return [found[place] for place in sorted(found)]


def widen(text: str, start: int, end: int) -> Span:
    """The span of the words that some characters touch, from the first to the last."""
    words = find_words(text)
    first, behind = touched_words(words, start, end)
    if behind == first:
        raise InputError(f"the phrase {text[start:end]!r} has no word")
    return int(words[first, 0]), int(words[behind - 1, 1])


def _ngrams(text: str, sentence: Span) -> Iterator[Span]:
    origin = sentence[0]
    tokens = [
        (origin + start, origin + end, bool(len(find_words(text[origin + start : origin + end]))))
        for start, end in find_tokens(text[slice(*sentence)])
    ]
    for size in SIZES:
        for first, last in zip(tokens, tokens[size - 1 :], strict=False):
            if first[2] and last[2]:
                yield first[0], last[1]


PHRASE, IN_CONTEXT, SINGLE_PASS = SETTINGS = ("phrase", "phrase-in-context", "single-pass")


@dataclass(frozen=True, slots=True)
class RankedPhrases:
    """The candidates of a question, best first.

    With setting ``phrase``, there is one of each wording; ``scores`` are ``(n,)`` cosines with the
    query, and ``rank`` is that of the first candidate worded as the answer, from 1.
    """

    candidates: tuple[Candidate, ...]
    scores: Float64Array
    rank: int


def rank_phrases(encoder: TextEncoder, question: PhraseQuestion, setting: str) -> RankedPhrases:
    """Rank the n-grams of 2 and 3 words and the answer itself, in one of the `SETTINGS`.

    ``phrase``: query and candidates each by themselves. ``phrase-in-context``: each candidate in
    its sentence, and the query in its place there, as in the authors' code; one pass for each
    candidate. ``single-pass``: candidates from one pass over the document, the query by itself.
    """
    text = question.context
    gold = widen(text, *question.place)
    wording = folded(text[slice(*gold)])
    # In PSD, the answer occurs twice.
    places = re.finditer(rf"(?<!\w){re.escape(question.answer)}(?!\w)", text)
    candidates = find_candidates(text, [gold, *(place.span() for place in places)])
    if setting == PHRASE:
        one_each = {folded(text[one.start : one.end]): one for one in reversed(candidates)}
        candidates = sorted(one_each.values(), key=lambda one: one.start)
        phrases = [text[one.start : one.end] for one in candidates]
        vectors = encoder.phrases([question.query, *phrases])
        queries, spans = vectors[:1], vectors[1:]
    elif setting == SINGLE_PASS:
        queries = encoder.phrases([question.query])
        inside = [(one.start, one.end) for one in candidates]
        spans = phrases_in_context(encoder, [text] * len(inside), inside)
    else:
        queries, spans = _in_sentences(encoder, question, candidates)
    scores = cosines(np.broadcast_to(queries, spans.shape), spans)
    order = np.argsort(-scores, kind="stable")
    ranked = tuple(candidates[index] for index in order)
    matches = (folded(text[one.start : one.end]) == wording for one in ranked)
    rank = next(rank for rank, hit in enumerate(matches, start=1) if hit)
    return RankedPhrases(ranked, scores[order], rank)


def _in_sentences(
    encoder: TextEncoder, question: PhraseQuestion, candidates: Sequence[Candidate]
) -> tuple[FloatArray, FloatArray]:
    """For each candidate, the vector of the query in its place, and its own vector."""
    texts, places = [], []
    for one in candidates:
        texts.append(question.context[one.sentence_start : one.sentence_end])
        places.append((one.start - one.sentence_start, one.end - one.sentence_start))
    for text, (start, end) in zip(texts.copy(), places.copy(), strict=True):
        texts.append(text[:start] + question.query + text[end:])
        places.append((start, start + len(question.query)))
    vectors = phrases_in_context(encoder, texts, places)
    return vectors[len(candidates) :], vectors[: len(candidates)]
