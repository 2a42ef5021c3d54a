"""Pairs of texts and how similar people find them: the STS Benchmark and U.S. patent phrases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from slice_os.datasets.files import DataSource
from slice_os.errors import InputError

HIGHEST = 5.0
STS_B = DataSource(
    "comma-separated rows of sentence, sentence, similarity from 0 to 5 (stsb-en-dev.csv)",
    "https://github.com/PhilipMay/stsb-multi-mt",
)
PATENT = DataSource(
    "U.S. patent phrases, a CSV with columns anchor, target, context and score (train.csv)",
    "https://www.kaggle.com/c/us-patent-phrase-to-phrase-matching",
)


@dataclass(frozen=True, slots=True)
class GradedPair:
    """Two texts, how similar people find them, and their field, if known."""

    first: str
    second: str
    score: float
    field: str = ""


def read_sts_b(path: Path) -> tuple[GradedPair, ...]:
    """Read STS-B or a table in its form, with scores from 0 to 5.

    A first line that names the columns is skipped; `InputError` if another is no pair.
    """
    columns = ("sentence 1", "sentence 2", "score")
    pairs = []
    for number, row in enumerate(STS_B.table(path, columns, header=False)):
        try:
            first, second = row.text("sentence 1").strip(), row.text("sentence 2").strip()
            pairs.append(GradedPair(first, second, row.score("score", 0, HIGHEST)))
        except InputError:
            if number or _is_number(row.values["score"]):
                raise
    if not pairs:
        raise STS_B.malformed(path, "has no rows")
    return tuple(pairs)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def read_patents(path: Path) -> Iterator[GradedPair]:
    """The pairs as published: scores from 0 to 1, classes such as ``A47``; others: `InputError`."""
    for row in PATENT.table(path, ("anchor", "target", "context", "score")):
        anchor, target = row.text("anchor").strip(), row.text("target").strip()
        yield GradedPair(anchor, target, row.score("score", 0, 1), row.text("context"))
