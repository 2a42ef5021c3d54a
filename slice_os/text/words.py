"""Words: the units that spans are counted in; no span ever cuts one."""

from __future__ import annotations

import numpy as np
import regex

from slice_os.arrays import IntArray

# A word starts with a letter or digit and continues with letters, marks, digits and joiners; a
# single connector between two such runs keeps them together ("non-refundable", "and/or",
# "O'Neill", "a@b.org", "3,000", "snake_case"). In scripts written without spaces each character
# is a word; so is an emoji sequence or a symbol. White space and other punctuation separate
# words; signs that nobody sees, such as a soft hyphen, do not. Runs and their number are bounded,
# so that no word outgrows a passage.
INVISIBLE = r"\u00AD\u034F\u180E\u200B-\u200F\u202A-\u202E\u2060-\u2064\u2066-\u2069\uFEFF"
"""Signs without a shape of their own, as in a set of a regular expression."""
_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_FIRST = rf"[[\p{{L}}\p{{N}}]--[{_UNSPACED}]]"
_HIDDEN = rf"[{INVISIBLE}]{{1,9}}(?={_FIRST})"
_RUN = rf"{_FIRST}(?:[[\p{{L}}\p{{M}}\p{{N}}\u200C\u200D]--[{_UNSPACED}]]|{_HIDDEN}){{0,99}}"
_WORD = regex.compile(
    rf"""
      [[{_UNSPACED}]&&[\p{{L}}\p{{N}}]][\p{{M}}\u200D]*
    | {_RUN} (?: (?: ['’.\-‐‑/&@·_] | (?<=\p{{N}})[,:](?=\p{{N}}) ) {_RUN} ){{0,15}}
    | \p{{Regional_Indicator}}{{1,2}} [\p{{GCB=Extend}}\p{{GCB=SpacingMark}}\p{{GCB=ZWJ}}]*
    | (?= \p{{Extended_Pictographic}} ) \X
    | [\p{{S}}--[`^~<>|=+\uFFFD]]
    """,
    regex.VERBOSE | regex.VERSION1,
)


def find_words(text: str) -> IntArray:
    """The ``(n, 2)`` start and end code points of words, half-open, in order, without overlap."""
    spans = [match.span() for match in _WORD.finditer(text)]
    return np.array(spans, dtype=np.int64).reshape(-1, 2)


def touched_words(words: IntArray, start: int, end: int) -> tuple[int, int]:
    """The first word that ``start:end`` touches, if only in part, and one past the last.

    Both are equal if no word is touched.

    Args:
        words: ``(n, ≥ 2)`` start and end code points of words, in order.
        start: first code point.
        end: one past the last.
    """
    first = int(np.searchsorted(words[:, 1], start, side="right"))
    return first, max(first, int(np.searchsorted(words[:, 0], end, side="left")))
