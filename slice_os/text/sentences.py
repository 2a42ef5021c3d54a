"""Ends of sentences, paragraphs and lines, where a text may be cut."""

from __future__ import annotations

import re
from collections.abc import Iterator

import sentencex

from slice_os.text.documents import ENGLISH
from slice_os.threads import checkpoint

# Between quotation marks that never close, sentencex takes time quadratic in the length.
_WINDOW = 2_000
_LONGEST_WINDOW = 8_000
# Wrapped prose fills its lines; a turn or an item of a list is mostly shorter.
_WRAPPED_LINE = 40
# sentencex fails on these between a capital and a full stop; a space has the same length.
_WIDE_SPACE = re.compile("[\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
# sentencex overlooks sentences that begin with these.
_INVERTED = re.compile(r"(?<=[.!?…])\s+(?=[¿¡])")
_NEWLINE = re.compile(r"\n\s*")


def sentence_ends(text: str, language: str = ENGLISH) -> list[int]:
    """The ends of the sentences of a text without lone surrogates.

    A newline also ends a sentence, unless the sentence visibly continues: the line is long and
    the next one starts in lower case, as in wrapped prose. White space after an end belongs to
    the sentence before it.

    The language is an ISO 639 code; sentencex knows some 300, and has common rules for others.

    Returns strictly increasing code points that cut the text into parts; the last is its length. An
    empty list for the empty text.
    """
    ends: list[int] = []
    start = 0
    for end in _block_ends(text):
        within = _ends_in(text[start:end].rstrip(), language)
        ends.extend(start + offset for offset in within[:-1])
        ends.append(end)
        start = end
    return ends


def _block_ends(text: str) -> Iterator[int]:
    """The ends of lines that do not continue, with the white space after each newline."""
    line_start = 0
    for newline in _NEWLINE.finditer(text):
        end = newline.end()
        wrapped = (
            newline[0].count("\n") == 1
            and newline.start() - line_start >= _WRAPPED_LINE
            and text[end : end + 1].islower()
        )
        line_start = end
        if not wrapped:
            yield end
    if line_start < len(text):
        yield len(text)


def _ends_in(block: str, language: str) -> list[int]:
    """The ends of the sentences of a block; the last is its own end."""
    ends: list[int] = []
    start, size = 0, _WINDOW
    while start + size < len(block):
        found = _window_ends(block[start : start + size], language)
        if len(found) == 1 and size < _LONGEST_WINDOW:
            size *= 2
            continue
        # The window may cut its last sentence, so the next window starts there.
        ends.extend(start + end for end in found[:-1])
        start, size = start + (found[-2] if len(found) > 1 else size), _WINDOW
    ends.extend(start + end for end in _window_ends(block[start:], language))
    return ends


def _window_ends(window: str, language: str) -> list[int]:
    checkpoint()
    sentences = sentencex.get_sentence_boundaries(language, _WIDE_SPACE.sub(" ", window))
    inverted = {space.end() for space in _INVERTED.finditer(window)}
    return sorted({sentence["end_index"] for sentence in sentences} | inverted | {len(window)})
