"""Rows of STS-B-Context, and of sets made in its form."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from slice_os.datasets.files import DataSource

SOURCE = DataSource(
    "a tab-separated table with the columns line, paraphrase, passage and goldsim",
    "https://github.com/eyal-orbach/sts-b-test-data, or by `slice-os eval build-context`",
)
COLUMNS = ("line", "paraphrase", "passage", "goldsim")


@dataclass(frozen=True, slots=True)
class ContextRow:
    """A phrase, a paraphrase of it, and the passage that the paraphrase stands in.

    Attributes:
        query: the phrase to look for.
        paraphrase: what should be found.
        passage: the text around it.
        gold: how similar people find query and paraphrase, 0 to 5.
        place: start and end character of the paraphrase in the passage; None if it does not
            stand there word for word, case and end point aside.
    """

    query: str
    paraphrase: str
    passage: str
    gold: float
    place: tuple[int, int] | None


def load_rows(path: Path) -> tuple[ContextRow, ...]:
    """Read a table as it was published, or as `save_rows` wrote it.

    The published one is Windows-1252, with ordinary quoting.

    Raises:
        InputError: if the file is missing, lacks a column, or has a row that is no such.
    """
    content = SOURCE.read(path)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", errors="replace")
    try:
        rows = [_row(record, path) for record in _records(text, path)]
    except csv.Error as error:
        raise SOURCE.malformed(path, f"not a table ({error})") from None
    if len(rows) < 2:
        raise SOURCE.malformed(path, "fewer than two rows")
    return tuple(rows)


def _records(text: str, path: Path) -> csv.DictReader[str]:
    table = csv.DictReader(io.StringIO(text, newline=""), delimiter="\t", restval="")
    missing = [column for column in COLUMNS if column not in (table.fieldnames or ())]
    if missing:
        raise SOURCE.malformed(path, f"no column {', '.join(missing)}")
    return table


def _row(record: dict[str, str], path: Path) -> ContextRow:
    query, paraphrase, passage, score = (record[column] for column in COLUMNS)
    try:
        gold = float(score)
    except ValueError:
        gold = float("nan")
    if not isfinite(gold) or not query or not passage:
        where = f"the row of {query[:40]!r}"
        raise SOURCE.malformed(path, f"{where} has no phrase, no passage or no score")
    return ContextRow(query, paraphrase, passage, gold, _place(record))


def save_rows(rows: Iterable[ContextRow], path: Path) -> None:
    """Write rows so that `load_rows` reads them: tab-separated, UTF-8, with the places."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
        writer.writerow(["", *COLUMNS, "start", "end"])
        for number, row in enumerate(rows):
            start, end = row.place or ("", "")
            writer.writerow([number, row.query, row.paraphrase, row.passage, row.gold, start, end])


def bare(sentence: str) -> str:
    """A sentence without its end point."""
    return sentence.strip().rstrip(".").rstrip() or sentence.strip()


def find_verbatim(sentence: str, passage: str) -> tuple[int, int] | None:
    """Where a sentence stands in a passage, in any case and without its end point."""
    wanted = bare(sentence)
    start = passage.find(wanted)
    # Only where lower case moves no character are its offsets those of the passage.
    if start < 0 and len(passage.lower()) == len(passage):
        start = passage.lower().find(wanted.lower())
    return None if start < 0 or not wanted else (start, start + len(wanted))


def _place(record: dict[str, str]) -> tuple[int, int] | None:
    """The place as the table tells it, else where the paraphrase is found."""
    passage = record["passage"]
    start, end = record.get("start", ""), record.get("end", "")
    if start.isdecimal() and end.isdecimal() and int(start) < int(end) <= len(passage):
        return int(start), int(end)
    return find_verbatim(record["paraphrase"], passage)
