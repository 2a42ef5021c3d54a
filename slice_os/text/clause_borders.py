"""Borders of clauses and phrases: a score for each border between two words.

Punctuation is a border. Between words without punctuation, the score tells how often the first of
them ends a clause, and the second begins one: "the" ends nothing, "because" begins something.
`recipes/border_scores.py` counts this in English text. Words that it did not meet are neutral, so
in other languages punctuation decides.
"""

from __future__ import annotations

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

_CLOSING = r"[)\]\"'”’]*"
_FULL_STOP = re.compile(rf"\b(?:[a-z]{{3,}}|\w{{5,}}){_CLOSING}[.?!]{_CLOSING}\s+(?=[A-Z])")

MARKED = 4.0
LEAST = -6.0


@dataclass(frozen=True, slots=True)
class BorderScores:
    """Log odds of punctuation before (``first``) and after (``last``) a word in small letters."""

    first: dict[str, float]
    last: dict[str, float]

    def borders(self, text: str, words: IntArray) -> FloatArray:
        """The ``(n + 1,)`` scores of borders before each word of a passage, and after the last.

        They go from `LEAST` to `MARKED`, which is that of punctuation and of both ends.

        Args:
            text: of the passage, as it reads.
            words: ``(n, 2)`` start and end of each word in the text.
        """
        starts, ends = words.T
        places = zip(starts.tolist(), ends.tolist(), strict=True)
        names = [text[start:end].casefold() for start, end in places]
        last = [self.last.get(name, 0.0) for name in names[:-1]]
        first = [self.first.get(name, 0.0) for name in names[1:]]
        marks = [mark.start() for mark in PUNCTUATION.finditer(text)]
        marked = np.searchsorted(marks, starts[1:]) > np.searchsorted(marks, ends[:-1])
        between = np.where(marked, MARKED, np.clip(np.add(last, first), LEAST, MARKED))
        return np.concatenate([[MARKED], between, [MARKED]]).astype(np.float32)


NEUTRAL = BorderScores({}, {})
"""Punctuation alone decides, as in languages other than English."""


def full_stops(text: str) -> list[int]:
    """Probable beginnings of sentences that an open bracket or quotation mark hides.

    Each is a capital after a full stop, whose word does not look like an abbreviation.
    """
    return [stop.end() for stop in _FULL_STOP.finditer(text)]


@cache
def border_scores() -> BorderScores:
    """The scores in the package."""
    table = orjson.loads((files(__package__) / SCORES).read_bytes())
    return BorderScores(table["first"], table["last"])
