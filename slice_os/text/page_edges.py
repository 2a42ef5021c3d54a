"""Headers, footers and page numbers: lines that come again at the edges of neighbouring pages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from typing import TypeAlias

_EDGE_LINES = 3
_NEAR_PAGES = (-2, -1, 1, 2)
_NUMBER = re.compile(r"\d{1,9}")

_Edge: TypeAlias = list[tuple[int, str]]
"""Lines of an edge of a page, the outermost first: number and text."""


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
