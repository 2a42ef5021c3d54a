"""Triples from annotated documents: a query, a sentence that answers it, and others that do not."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

from slice_os.datasets.span_sets import Question, Span, read_span_set
from slice_os.text.sentences import sentence_ends
from slice_os.text.words import find_words
from slice_os.training.record_types import Triple

_LONGEST = 50
_SHORTEST = 4
_POSITIVES = 2
_NEGATIVES = 6


def read_answers(path: Path, split: str = "") -> Iterator[Triple]:
    """Triples of every query that a document answers.

    Sentences are cut into pieces of at most 50 words; pieces under four words are left out. The
    two pieces that gold spans cover most are positives. Pieces that they do not touch are
    negatives, those that share most words with the query first: from the same document and in the
    same style, they differ in what they say.

    Raises:
        InputError: if the file is missing, of no known form, or without that split.
    """
    found = read_span_set(path, split or None)
    texts = {document.id: document.text for document in found.documents}
    for doc_id, questions in itertools.groupby(found.questions, key=lambda one: one.doc_id):
        text = texts[doc_id]
        pieces = _pieces(text)
        words = [_vocabulary(text[start:end]) for start, end in pieces]
        for question in questions:
            yield from _triples(question, text, pieces, words)


def _triples(
    question: Question, text: str, pieces: Sequence[Span], words: Sequence[frozenset[str]]
) -> Iterator[Triple]:
    covered = [_covered(piece, question.spans) for piece in pieces]
    wanted = _vocabulary(question.query)
    by_cover = sorted(range(len(pieces)), key=lambda index: -covered[index])
    by_words = sorted(range(len(pieces)), key=lambda index: -len(wanted & words[index]))
    negatives = [index for index in by_words if not covered[index]][:_NEGATIVES]
    if not negatives:
        return
    others = tuple(text[slice(*pieces[index])] for index in negatives)
    for index in by_cover[:_POSITIVES]:
        if covered[index]:
            yield Triple(question.query, text[slice(*pieces[index])], others)


def _pieces(text: str) -> list[Span]:
    pieces = []
    for start, end in itertools.pairwise([0, *sentence_ends(text)]):
        words = find_words(text[start:end])
        parts = -(-len(words) // _LONGEST)
        for part in range(parts):
            own = words[len(words) * part // parts : len(words) * (part + 1) // parts]
            if len(own) >= _SHORTEST:
                pieces.append((start + int(own[0][0]), start + int(own[-1][1])))
    return pieces


def _covered(piece: Span, spans: Sequence[Span]) -> int:
    """Code points of a piece that gold spans cover."""
    start, end = piece
    return sum(max(0, min(end, last) - max(start, first)) for first, last in spans)


def _vocabulary(text: str) -> frozenset[str]:
    return frozenset(text[start:end].lower() for start, end in find_words(text))
