"""Where clauses and phrases begin and end: scores of the borders between words.

A border with punctuation is one. Between two words without any, counts tell how often each of
them is the last word before punctuation, and the first after it: "the" ends nothing, "because"
begins something. `recipes/border_scores.py` counts them in English text; words that it did not
meet count as neutral, so in other languages punctuation decides.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import orjson

from slice_os.arrays import FloatArray, IntArray

SCORES = "border_scores.json"
PUNCTUATION = re.compile(r"[.,;:?!…()\[\]{}\"“”«»|•—–。、，；：？！]|\n\s*\n")
"""Marks, and blank lines, that end or begin a clause or phrase."""

_FULL_STOP = re.compile(r"[)\]\"'”’]*[.?!][)\]\"'”’]*\s")
_ABBREVIATION = 4

MARKED = 4.0
LEAST = -6.0


@dataclass(frozen=True, slots=True)
class BorderScores:
    """Log odds that punctuation is beside a word, by the word in small letters.

    Attributes:
        first: that the word comes first after it.
        last: that the word comes last before it.
    """

    first: dict[str, float]
    last: dict[str, float]

    def borders(self, text: str, words: IntArray, offset: int) -> FloatArray:
        """The score of a border before each word, and after the last.

        Args:
            text: of a passage.
            words: ``(n, ≥ 2)`` start and end of each word in the document.
            offset: first code point of the passage in the document.

        Returns:
            ``(n + 1,)`` from `LEAST` to `MARKED`, which is that of punctuation and of both ends.
        """
        places = (words[:, :2] - offset).tolist()
        names = [text[start:end].casefold() for start, end in places]
        scores = [MARKED]
        pairs = zip(itertools.pairwise(places), itertools.pairwise(names), strict=True)
        for ((_, end), (start, _)), (last, first) in pairs:
            if PUNCTUATION.search(text, end, start):
                scores.append(MARKED)
            else:
                score = self.last.get(last, 0.0) + self.first.get(first, 0.0)
                scores.append(min(max(score, LEAST), MARKED))
        return np.array([*scores, MARKED], dtype=np.float32)


def full_stops(text: str, words: IntArray, offset: int) -> IntArray:
    """Where a sentence probably ends that an open bracket or quotation mark hides.

    Args:
        text: of a passage.
        words: ``(n, ≥ 2)`` start and end of each word in the document.
        offset: first code point of the passage in the document.

    Returns:
        ``(n,)``, 1 for each word before which there is a full stop, after a word that looks like
        no abbreviation, and before a capital; else 0.
    """
    places = (words[:, :2] - offset).tolist()
    found = [0]
    for (begin, end), (start, _) in itertools.pairwise(places):
        whole = text[begin:end].islower() or end - begin > _ABBREVIATION
        stopped = whole and _FULL_STOP.match(text, end, start) and text[start].isupper()
        found.append(int(bool(stopped)))
    return np.array(found[: len(places)], dtype=np.int64)


@cache
def border_scores() -> BorderScores:
    """The scores that are shipped."""
    table = orjson.loads((files("slice_os") / SCORES).read_bytes())
    return BorderScores(table["first"], table["last"])
