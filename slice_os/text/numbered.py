"""Numbered headings, such as "12.3 Limitation of Liability", and the nearest one before a place."""

from __future__ import annotations

import re
from bisect import bisect_right

# At the beginning of a line or after a sentence; a whole number alone needs a full stop.
_NUMBER = re.compile(
    r"(?:(?<=\n)|\A|(?<=[.;:] )|(?<=[.;:]  ))[ \t]*"
    r"(?P<number>(?:(?:article|section|clause)[ \t]+)?(?:\d{1,3}(?:\.\d{1,3})+\b\.?|\d{1,3}[.)])"
    r"|(?:article|section|clause)[ \t]+(?:[IVXLC]+|\d{1,3})\b[.:]?)"
    r"(?=[ \t\n]+(?P<title>[^\W\d_\n][^.:;\n]{0,80})?)",
    re.IGNORECASE,
)
_SMALL = 4


class Sections:
    """The numbered headings of a text."""

    def __init__(self, text: str) -> None:
        found = list(_NUMBER.finditer(text))
        self._starts = [one.start("number") for one in found]
        self._names = [_name(one["number"], one["title"] or "") for one in found]

    def before(self, place: int) -> str | None:
        """The nearest heading that begins before or at a place; None if there is none."""
        number = bisect_right(self._starts, place) - 1
        return self._names[number] if number >= 0 else None


def _name(number: str, rest: str) -> str:
    """The number, with a title if what follows is one: its longer words are capitalized."""
    words = re.sub(r"[\d\s]+$", "", rest).split()
    long = [word for word in words if len(word) >= _SMALL]
    is_title = 0 < len(words) <= 10 and bool(long) and all(word[0].isupper() for word in long)
    return " ".join([number.rstrip(".):"), *(words if is_title else ())])
