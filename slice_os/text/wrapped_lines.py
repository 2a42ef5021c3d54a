"""Lines that are broken where they are full, in the midst of a sentence, are joined to read them.

A line goes on in the next one if the first word of that had no more room, if the lines around are
full, too, and begin in lower case as often as those of prose do; or if the line ends with a word
that needs another, such as "the". So the lines of poems, lists, tables, headings and conversations
stay apart. A word that is broken by a hyphen is one word. Headers, footers and page numbers, lines
that come again at the edges of neighbouring pages, are left out in the midst of a sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from slice_os.arrays import BoolArray, FloatArray, IntArray
from slice_os.text.clause_borders import border_scores
from slice_os.text.documents import Document
from slice_os.text.passage_layout import Reading, reading_of
from slice_os.threads import checkpoint

# Columns of print have about 40 characters.
_LEAST_BREADTH = 36
_NEAR_LINES = 4
_NEAR_BREAKS = 6
# Letters of print differ in breadth, so that full lines differ in their number.
_FULL, _FULL_IN_PRINT = 1.0, 0.95
_LEAST_FULL = 0.6
_LEAST_LOWER = 0.15
_LEAST_FULL_IN_CAPITALS = 0.8
# A word that seldom ends a clause, such as "the".
_OPEN = -2.0
# Shorter lines tell nothing of where those around are broken.
_LONG = 24

_ITEM = re.compile(
    r"[-*•·▪◦‣–—o+]\s|\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,6})[.)]\s|\d+(?:\.\d+)+\.?\s"
)
_TABLE = re.compile(r"\t|\.{4}|(?:\. ){4}|[_=|-]{4}")
_GAP = re.compile(r"\S\s{3,}(?=\S)")
_QUOTED = re.compile(r"\s*(?:>[ \t]?)+")
_BROKEN = re.compile(r"[^\W_][-‐\xad]$")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_LONGEST_WORD = 50
_LAST_WORD = re.compile(r"([^\W\d_]+)$")
_NARROW = re.compile(r"[ijltfrI.,;:'’|!() ]")
_WIDE = re.compile(r"[A-HJ-ZmwMW@%—]")
# What is before an item of a list, but not before "(a)" in the midst of a sentence.
_LED_IN = re.compile(r"(?:[.,;:!?)\]\"”’]|\b(?:and|or))$", re.IGNORECASE)
_FULL_STOP = re.compile(r"[.?!…][)\]\"'”’]*$")

_EDGE_LINES = 3
_NEAR_PAGES = (-2, -1, 1, 2)
_NUMBER = re.compile(r"\d{1,9}")

_Edge: TypeAlias = list[tuple[int, str]]
"""Lines of an edge of a page, the outermost first: number and text."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line without the white space and the marks of quotation around it.

    Its margin is the code points before it on its line. Lines share a block that have no blank one,
    or another turn, between them.
    """

    start: int
    body: str
    margin: int
    quotes: int
    block: tuple[int, int]
    page: int

    @property
    def end(self) -> int:
        return self.start + len(self.body)


def unwrapped(document: Document) -> Reading:
    """A document as it reads: sentences over several lines or pages are on one line.

    Headers, footers and page numbers are left out where a sentence goes on behind them.
    """
    text = document.text
    if "\n" not in text.strip():
        return Reading(text)
    lines = _Lines(document)
    cuts: list[int] = []
    joined: list[tuple[int, int]] = []
    for first, second in lines.joined():
        end, start = first.end, second.start
        if _hyphenated(first.body, second.body):
            drops = lines.is_one_word(first.body, second.body)
            cuts += [end - drops, start]
        else:
            blank = not text[end:start].strip()
            joined.append((end, start if blank else end + 1))
            cuts += [] if blank else [end + 1, start]
    return reading_of(text, cuts, joined)


class _Lines:
    """The lines of a document that are not at the edges of its pages, and which of them go on."""

    def __init__(self, document: Document) -> None:
        found = list(_lines(document))
        pages = [line.page for line in found]
        paged = bool(pages and pages[-1])
        edges = edge_lines([line.body for line in found], pages) if paged else set()
        self._lines = [line for number, line in enumerate(found) if number not in edges]
        self._text = document.text
        self._in_print = any("page" in segment.fields for segment in document.segments)

    def joined(self) -> Iterator[tuple[_Line, _Line]]:
        """Lines that go on, each with the next one."""
        for at in np.flatnonzero(self._goes_on()).tolist():
            yield self._lines[at], self._lines[at + 1]

    def is_one_word(self, first: str, second: str) -> bool:
        """Whether the hyphen between two lines is none of the word, as that of "long-term" is."""
        ends, begins = _LAST_WORD.search(first[-_LONGEST_WORD:-1]), _WORD.match(second)
        if first.endswith("\xad"):
            return True
        if ends is None or begins is None or not begins[0].islower():
            return False
        parts = ends[0].casefold(), begins[0].casefold()
        if "".join(parts) in self._known or "-".join(parts) in self._known:
            return "".join(parts) in self._known
        return not self._known.issuperset(parts)

    @cached_property
    def _known(self) -> set[str]:
        """The words of the document that are whole in a line, and frequent ones of English."""
        words = {word for line in self._lines for word in _WORD.findall(line.body.casefold())[1:-1]}
        return words | border_scores().first.keys() | border_scores().last.keys()

    def _goes_on(self) -> BoolArray:
        """The ``(n - 1,)`` lines that go on in the next one."""
        lines = self._lines
        if len(lines) < 2:
            return np.zeros(0, dtype=bool)
        pairs = list(pairwise(lines))
        crosses = _flags(one.page != other.page for one, other in pairs)
        apart = _flags(
            one.block != other.block or one.quotes != other.quotes for one, other in pairs
        )
        table = _flags(_is_table(line.body) for line in lines)
        item = _flags(_ITEM.match(two.body) and _LED_IN.search(one.body) for one, two in pairs)
        maybe = ~(apart & ~crosses | table[:-1] | table[1:] | item)
        full = maybe & self._full()
        lower = _flags(line.body[:1].islower() for line in lines)[1:]
        capitals = _flags(_in_capitals(line.body) for line in lines)
        heading = capitals[:-1] & ~capitals[1:] & ~lower
        capitals = capitals[:-1] & capitals[1:]
        long = _flags(len(line.body) >= _LONG for line in lines)[:-1]
        near_full = _near(full)
        like_full = near_full / np.maximum(1, _near(maybe & long))
        like_lower = _near(full & lower) / np.maximum(1, _near(full & ~capitals))
        ends = _flags(_FULL_STOP.search(line.body) for line in lines)[:-1]
        leads = _flags(line.body.endswith((":", ";")) for line in lines)[:-1]
        opens = _flags(_is_open(line.body) for line in lines)[:-1]
        prose = (like_full >= _LEAST_FULL) & (like_lower >= _LEAST_LOWER)
        prose &= lower | ~(leads | heading)
        shouted = capitals & (like_full >= _LEAST_FULL_IN_CAPITALS)
        hyphens = _flags(_hyphenated(one.body, other.body) for one, other in pairs)
        hyphens &= lower & maybe
        over = crosses & ~ends & lower & long & maybe
        opens &= maybe & (long | lower)
        return over | opens | hyphens | full & (prose | shouted) & ~(crosses & ends)

    def _full(self) -> BoolArray:
        """The ``(n - 1,)`` lines that had no room for the first word of the next one."""
        bodies = [line.body for line in self._lines]
        words = [body.split(maxsplit=1)[0] for body in bodies]
        margins = [line.margin for line in self._lines]
        if not self._in_print:
            return _fills(_lengths(bodies) + margins, _lengths(words), _FULL)
        even = _fills(_lengths(bodies), _lengths(words), _FULL_IN_PRINT)
        return even | _fills(_breadths(bodies), _breadths(words), _FULL_IN_PRINT)


def _fills(lines: FloatArray, words: FloatArray, share: float) -> BoolArray:
    """The lines that, with the first word of the next one, are as broad as those around."""
    widest = _around(lines, _NEAR_LINES).max(axis=1)[:-1]
    full: BoolArray = (lines[:-1] + 1 + words[1:] > share * widest) & (widest >= _LEAST_BREADTH)
    return full


def _lengths(texts: list[str]) -> FloatArray:
    return np.array([len(text) for text in texts], dtype=np.float32)


def _breadths(texts: list[str]) -> FloatArray:
    """About how broad texts are in print, in letters."""
    narrow = np.array([len(_NARROW.findall(text)) for text in texts], dtype=np.float32)
    wide = np.array([len(_WIDE.findall(text)) for text in texts], dtype=np.float32)
    breadths: FloatArray = _lengths(texts) - np.float32(0.45) * narrow + np.float32(0.4) * wide
    return breadths


def _lines(document: Document) -> Iterator[_Line]:
    text, start, block, page = document.text, 0, 0, 0
    pages = [one.start for one in document.segments if "page" in one.fields]
    turns = [one.start for one in document.segments if "page" not in one.fields]
    turn = sheet = 0
    for raw in text.split("\n"):
        checkpoint()
        quoted = _QUOTED.match(raw)
        marks = quoted.end() if quoted else 0
        body = raw[marks:].strip()
        page += raw.count("\f")
        end = start + len(raw)
        while sheet < len(pages) and pages[sheet] < end:
            sheet += 1
            page += sheet > 1
        while turn < len(turns) and turns[turn] < end:
            turn += 1
        if body:
            margin = raw.index(body[0], marks)
            quotes = raw[:marks].count(">")
            yield _Line(start + margin, body, margin, quotes, (block, turn), page)
        else:
            block += 1
        start = end + 1


def _near(breaks: BoolArray) -> IntArray:
    """The ``(n,)`` number of those that hold, around each."""
    counts: IntArray = _around(breaks, _NEAR_BREAKS).sum(axis=1)
    return counts


def _around(values: npt.NDArray[Any], near: int) -> npt.NDArray[Any]:
    """The ``(n, 2 near + 1)`` values around each, with zeros beyond the first and the last."""
    return np.lib.stride_tricks.sliding_window_view(np.pad(values, near), 2 * near + 1)


def _flags(values: Iterable[object]) -> BoolArray:
    checkpoint()
    return np.array([bool(value) for value in values], dtype=bool)


def _hyphenated(first: str, second: str) -> bool:
    return bool(_BROKEN.search(first[-2:])) and second[:1].isalnum()


def _is_table(body: str) -> bool:
    digits = sum(map(str.isdigit, body))
    return bool(_TABLE.search(body)) or len(_GAP.findall(body)) > 1 or digits > 0.3 * len(body)


def _in_capitals(body: str) -> bool:
    letters = [sign for sign in body if sign.isalpha()]
    return len(letters) > 3 and sum(map(str.isupper, letters)) > 0.8 * len(letters)


def _is_open(body: str) -> bool:
    word = _LAST_WORD.search(body[-_LONGEST_WORD:])
    return word is not None and border_scores().last.get(word[0].casefold(), 0.0) <= _OPEN


def edge_lines(lines: Sequence[str], pages: Sequence[int]) -> set[int]:
    """The numbers of lines that are at the same edge of a page near their own.

    A number in them may be that of the page. A line is none of these if one nearer to the edge is
    not.

    Args:
        lines: without white space around them.
        pages: the page of each, in order.
    """
    tops: dict[int, _Edge] = {}
    feet: dict[int, _Edge] = {}
    for page, group in groupby(range(len(lines)), key=pages.__getitem__):
        own = [(number, lines[number]) for number in group]
        tops[page] = own[:_EDGE_LINES]
        feet[page] = own[::-1][:_EDGE_LINES]
    return {*_repeated(tops), *_repeated(feet)}


def _repeated(edges: dict[int, _Edge]) -> list[int]:
    found = []
    for page, edge in edges.items():
        near = [(step, other) for step in _NEAR_PAGES for _, other in edges.get(page + step, ())]
        for number, line in edge:
            if not any(_same(line, other, step) for step, other in near):
                break
            found.append(number)
    return found


def _same(line: str, other: str, step: int) -> bool:
    """Whether two lines differ at most in one number, by as many as there are pages between."""
    if _NUMBER.split(line) != _NUMBER.split(other):
        return False
    pairs = zip(_NUMBER.findall(line), _NUMBER.findall(other), strict=True)
    changes = [int(second) - int(first) for first, second in pairs if first != second]
    return not changes or changes == [step]
