"""Formats: how the files of a data set become records."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slice_os.datasets.text_files import number, read_jsonl, read_rows, text_field
from slice_os.errors import InputError
from slice_os.training.data.answer_triples import EXPECTED, read_answers
from slice_os.training.data.swords import read_swords
from slice_os.training.data.wordnet import (
    read_definitions,
    read_senses,
    read_substitutions,
)
from slice_os.training.records import Pair, Passage, Record, Sense, Substitution, Triple

# As in SICK and STS: what follows is alike, what contradicts is near in topic only.
NLI_SCORES = {"entailment": 0.85, "neutral": 0.5, "contradiction": 0.15}
_BEFORE_MARK = re.compile(r"\s+(?=[.,;:!?]|n't|'(?:s|re|ve|ll|d|m)\b)")


@dataclass(frozen=True, slots=True)
class Format:
    """A format of data files.

    Attributes:
        records: what it yields.
        read: reads one file.
        expected: its files, in words.
        splits: whether documents say which split they belong to; ``read`` then takes one.
    """

    records: type
    read: Callable[..., Iterator[Record]]
    expected: str
    splits: bool = False


def _texts(path: Path) -> Iterator[Passage]:
    for where, row in read_jsonl(path, FORMATS["texts-jsonl"].expected):
        yield Passage(text_field(row, "text", where))


def _pairs(path: Path) -> Iterator[Pair]:
    for where, row in read_jsonl(path, FORMATS["pairs-jsonl"].expected):
        first, second = (text_field(row, name, where) for name in ("first", "second"))
        score = number(row.get("score", 1.0), f"{where}: score", 0, 1)
        passage = Passage(second)
        if "passage" in row:
            text = text_field(row, "passage", where)
            start = text.lower().find(second.lower().strip(" ."))
            if start < 0:
                raise InputError(f"{where}: the passage does not contain {second!r}")
            passage = Passage(text, start, start + len(second.strip(" .")))
        yield Pair(first, second, score, passage)


def _triples(path: Path) -> Iterator[Triple]:
    for where, row in read_jsonl(path, FORMATS["triples-jsonl"].expected):
        query, positive = (text_field(row, name, where) for name in ("query", "positive"))
        negatives = row.get("negatives")
        if (
            not isinstance(negatives, list)
            or not negatives
            or not all(isinstance(text, str) for text in negatives)
        ):
            raise InputError(f"{where}: 'negatives' is no list of texts")
        yield Triple(query, positive, tuple(negatives))


def _triples_tsv(path: Path) -> Iterator[Triple]:
    for _, row in read_rows(path, 3, "\t", FORMATS["triples-tsv"].expected):
        yield Triple(row[0], row[1], (row[2],))


def _sts(path: Path) -> Iterator[Pair]:
    for where, row in read_rows(path, 3, ",", FORMATS["sts-csv"].expected):
        yield _pair(row[0], row[1], number(row[2], where, 0, 5) / 5)


def _nli(path: Path) -> Iterator[Pair]:
    for _, (label, premise, hypothesis, *_) in read_rows(
        path, 3, "\t", FORMATS["nli-tsv"].expected
    ):
        if label in NLI_SCORES:
            yield _pair(_joined(premise), _joined(hypothesis), NLI_SCORES[label])


def _paraphrases(path: Path) -> Iterator[Pair]:
    for _, row in read_rows(path, 2, "\t", FORMATS["paraphrases-tsv"].expected):
        yield _pair(row[0], row[1], 1.0)


def _graded_csv(path: Path) -> Iterator[Pair]:
    rows = read_rows(path, 5, ",", FORMATS["patents-csv"].expected)
    next(rows, None)
    for where, row in rows:
        yield _pair(row[1], row[2], number(row[4], where, 0, 1))


def _pair(first: str, second: str, score: float) -> Pair:
    return Pair(first, second, score, Passage(second))


def _joined(tokens: str) -> str:
    """Text that was cut into tokens, with its marks back at their words."""
    return _BEFORE_MARK.sub("", tokens).strip()


FORMATS: dict[str, Format] = {
    "texts-jsonl": Format(Passage, _texts, 'lines of {"text"}'),
    "pairs-jsonl": Format(
        Pair, _pairs, 'lines of {"first", "second"}, and "score" (0 to 1) and "passage" if known'
    ),
    "triples-jsonl": Format(Triple, _triples, 'lines of {"query", "positive", "negatives": []}'),
    "triples-tsv": Format(Triple, _triples_tsv, "query, positive, negative in tab-separated lines"),
    "answers": Format(Triple, read_answers, EXPECTED, splits=True),
    "sts-csv": Format(Pair, _sts, "two sentences and a score of 0 to 5 in each CSV row"),
    "nli-tsv": Format(Pair, _nli, "label, premise, hypothesis in tab-separated lines"),
    "paraphrases-tsv": Format(Pair, _paraphrases, "two phrases in each tab-separated line"),
    "patents-csv": Format(
        Pair, _graded_csv, "id, anchor, target, context, score (0 to 1) in CSV rows with a header"
    ),
    "wordnet-substitutes": Format(
        Substitution, read_substitutions, "synsets of Open English WordNet as JSON lines"
    ),
    "wordnet-senses": Format(Sense, read_senses, "synsets of Open English WordNet as JSON lines"),
    "wordnet-definitions": Format(
        Pair, read_definitions, "synsets of Open English WordNet as JSON lines"
    ),
    "swords": Format(Substitution, read_swords, "SWORDS v1.1 as JSON"),
}


def read_files(format_name: str, files: list[Path], split: str = "") -> Iterator[Any]:
    """The records of a data set's files, in order.

    Args:
        format_name: one of `FORMATS`.
        files: where they are.
        split: only documents of it, where the format has splits.

    Raises:
        InputError: on a missing or malformed file, or one without the split.
    """
    known = FORMATS[format_name]
    for path in files:
        yield from known.read(path, split) if known.splits else known.read(path)
