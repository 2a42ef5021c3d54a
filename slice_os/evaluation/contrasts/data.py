"""Contrast pairs: a phrase, a span that says it, and one that differs in one meaning."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from slice_os.datasets.files import DataRow, DataSource

PAIRS = DataSource(
    'JSON Lines of {"phrase", "says", "contrast", "kind"} with the span between [[ and ]]'
)

_MARKED = re.compile(r"(?P<before>.*?)\[\[(?P<span>.+?)\]\](?P<after>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class MarkedSpan:
    """A text and the code points ``start:end`` of the span of interest in it."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ContrastPair:
    """A phrase with two spans, of which one says it.

    Attributes:
        phrase: the phrase.
        says: the span that says it.
        contrast: the one that does not.
        kind: what they differ in, such as ``negation``.
    """

    phrase: str
    says: MarkedSpan
    contrast: MarkedSpan
    kind: str


def read_pairs(path: Path) -> list[ContrastPair]:
    """The pairs of a file; a text without marks is a span as a whole.

    Raises:
        InputError: if the file is missing, malformed or has no pair.
    """
    pairs = [
        ContrastPair(
            row.text("phrase"), _marked(row, "says"), _marked(row, "contrast"), row.text("kind")
        )
        for row in PAIRS.json_lines(path)
    ]
    if not pairs:
        raise PAIRS.malformed(path, "has no pair")
    return pairs


def _marked(row: DataRow, name: str) -> MarkedSpan:
    text = row.text(name)
    found = _MARKED.fullmatch(text)
    if found is None:
        return MarkedSpan(text, 0, len(text))
    start = len(found["before"])
    if "[[" in found["after"]:
        raise row.malformed(f"{name!r} has more than one span in [[ ]]")
    return MarkedSpan(
        found["before"] + found["span"] + found["after"], start, start + len(found["span"])
    )
