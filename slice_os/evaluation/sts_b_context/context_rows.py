"""Rows of STS-B-Context, and of sets made in its form."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from slice_os.datasets.files import DataSource
from slice_os.tables.replacing import replacing

SOURCE = DataSource(
    "a tab-separated table with the columns line, paraphrase, passage and goldsim",
    "https://github.com/eyal-orbach/sts-b-test-data, or make one: `slice-os eval build-context`",
)
COLUMNS = ("line", "paraphrase", "passage", "goldsim")


@dataclass(frozen=True, slots=True)
class ContextRow:
    """A phrase, a paraphrase of it, and the passage that contains the paraphrase.

    Attributes:
        gold: how similar people find query and paraphrase, 0 to 5.
        place: start and end code point of the paraphrase in the passage; None if it is not
            there verbatim, apart from case and the full stop.
    """

    query: str
    paraphrase: str
    passage: str
    gold: float
    place: tuple[int, int] | None


def load_rows(path: Path) -> tuple[ContextRow, ...]:
    """Read a table as published, in Windows-1252, or as `save_rows` wrote it."""
    table = SOURCE.table(path, COLUMNS, separator="\t", fallback="cp1252")
    rows = tuple(
        ContextRow(
            row.text("line"),
            row.values["paraphrase"],
            row.text("passage"),
            row.score("goldsim"),
            _place(row.values),
        )
        for row in table
    )
    if len(rows) < 2:
        raise SOURCE.malformed(path, "fewer than two rows")
    return rows


def save_rows(rows: Iterable[ContextRow], path: Path) -> None:
    """Write rows in a form that `load_rows` reads: tab-separated, UTF-8, with the places."""
    with replacing(path) as part, part.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
        writer.writerow(["", *COLUMNS, "start", "end"])
        for number, row in enumerate(rows):
            start, end = row.place or ("", "")
            writer.writerow([number, row.query, row.paraphrase, row.passage, row.gold, start, end])


def bare(sentence: str) -> str:
    """A sentence without its full stop."""
    return sentence.strip().rstrip(".").rstrip() or sentence.strip()


def find_verbatim(sentence: str, passage: str) -> tuple[int, int] | None:
    """The place of a sentence in a passage, in any case and without its full stop."""
    wanted = bare(sentence)
    start = passage.find(wanted)
    # Offsets in lower case are those of the passage only if no character changes its length.
    if start < 0 and len(passage.lower()) == len(passage):
        start = passage.lower().find(wanted.lower())
    return None if start < 0 or not wanted else (start, start + len(wanted))


def _place(record: Mapping[str, str]) -> tuple[int, int] | None:
    """The place that the table gives, or else where the paraphrase is found."""
    passage = record["passage"]
    start, end = record.get("start", ""), record.get("end", "")
    if start.isdecimal() and end.isdecimal() and int(start) < int(end) <= len(passage):
        return int(start), int(end)
    return find_verbatim(record["paraphrase"], passage)
