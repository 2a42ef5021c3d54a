"""Candidate phrases of a document: n-grams of tokens within its sentences (PiC, section 5.3).

Tokens follow the conventions of the Penn Treebank, as NLTK's word tokenizer does: punctuation
is separate, contractions are split (``do n't``, ``bank 's``), hyphens and inner full stops stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import regex

from slice_os.datasets.span_sets import Span
from slice_os.errors import InputError
from slice_os.text.sentences import sentence_ends
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
_CLOSING = regex.compile(r"""[\]\)}>"'»”’\s]*""")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A phrase of a document, and the sentence around it.

    Attributes:
        start: first code point in the document.
        end: one past the last.
        sentence_start: first code point of its sentence.
        sentence_end: one past the last.
    """

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
    starts = [0, *(ends := sentence_ends(text))]
    sentences = []
    for start, end in zip(starts, ends, strict=False):
        inner = text[start:end]
        shift = len(inner) - len(inner.lstrip())
        if inner.strip():
            sentences.append((start + shift, start + len(inner.rstrip())))
    return sentences


def find_candidates(
    text: str, golds: Iterable[Span] = (), sizes: tuple[int, ...] = (2, 3)
) -> list[Candidate]:
    """The n-grams of a document and its gold phrases, in order and without repetition.

    Each is widened to whole words, since spans consist of words. N-grams that begin or end with
    punctuation, or that are only one word once widened ("bank 's"), are skipped. A gold phrase
    that crosses a sentence end belongs to all the sentences that it touches.

    Args:
        text: the document.
        golds: offsets of gold phrases, of any length.
        sizes: how many tokens an n-gram has.

    Raises:
        InputError: if a gold phrase contains no word.
    """
    words = find_words(text)
    sentences = find_sentences(text)
    found = {}
    for sentence in sentences:
        for start, end in _ngrams(text, sentence, sizes):
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
    """The span of the words that some characters touch, from the first to the last.

    Raises:
        InputError: if they touch no word.
    """
    words = find_words(text)
    first, behind = touched_words(words, start, end)
    if behind == first:
        raise InputError(f"the phrase {text[start:end]!r} has no word")
    return int(words[first, 0]), int(words[behind - 1, 1])


def _ngrams(text: str, sentence: Span, sizes: tuple[int, ...]) -> Iterator[Span]:
    origin = sentence[0]
    tokens = [
        (origin + start, origin + end, bool(len(find_words(text[origin + start : origin + end]))))
        for start, end in find_tokens(text[slice(*sentence)])
    ]
    for size in sizes:
        for first, last in zip(tokens, tokens[size - 1 :], strict=False):
            if first[2] and last[2]:
                yield first[0], last[1]
