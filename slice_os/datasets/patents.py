"""U.S. patent phrases (Aslanyan and Wetherbee, 2022): how alike two phrases are in a field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from slice_os.datasets.files import DataSource

PATENT = DataSource(
    "U.S. patent phrases, a CSV with columns anchor, target, context and score (train.csv)",
    "https://www.kaggle.com/c/us-patent-phrase-to-phrase-matching",
)


@dataclass(frozen=True, slots=True)
class PatentPair:
    """Two phrases and how alike they are.

    Attributes:
        anchor: a phrase.
        target: another.
        symbol: the patent class that they are compared in, such as ``A47``.
        score: from 0 to 1.
        line: of the file.
    """

    anchor: str
    target: str
    symbol: str
    score: float
    line: int


def read_patents(path: Path) -> Iterator[PatentPair]:
    """Read the table as published.

    Raises:
        InputError: if it is missing, lacks a column, or has a row that does not fit.
    """
    for row in PATENT.table(path, ("anchor", "target", "context", "score")):
        anchor, target = row.text("anchor").strip(), row.text("target").strip()
        score = row.score("score", 0, 1)
        yield PatentPair(anchor, target, row.text("context"), score, row.number)
