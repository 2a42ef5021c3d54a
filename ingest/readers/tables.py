"""CSV and other delimited tables: a header row, then a record a row."""

from __future__ import annotations

import csv
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from functools import partial
from typing import BinaryIO, NamedTuple, TextIO

from slice_os.errors import InputError
from slice_os.ingest.readers.decoding import LONGEST_LINE, check_line, note, open_text, read_line
from slice_os.ingest.readers.fields import NAME_TEXT, Record, listing
from slice_os.ingest.readers.reader import (
    DocumentStream,
    ReadOptions,
    bad_record,
    is_blank,
    notes_of,
)
from slice_os.ingest.readers.records import documents_of

NAMELESS = "cells of columns without a name left out"
DELIMITERS = ",;\t|"

# Excel writes and reads this line before the header.
_NAMED_DELIMITER = re.compile(r"\ufeff?sep=(.)\r?\n?")


class _Row(NamedTuple):
    """A row, the line it starts at and its text; an InputError if it is not valid CSV."""

    line: int
    text: str
    cells: list[str] | InputError


def needed_columns(options: ReadOptions) -> list[str]:
    """The columns that the options name; only that of ids may be missing if nobody named it."""
    named_id = options.id_field if options.id_field != ReadOptions().id_field else None
    turns = options.group_by, options.speaker_field, options.time_field, options.order_by
    optional = named_id, options.title_field, *turns, options.date_field
    return [options.text_field, *filter(None, optional)]


def check_columns(columns: list[str], options: ReadOptions) -> None:
    """Raise an InputError if a column that a table needs is missing, or two share a name."""
    for needed in needed_columns(options):
        if needed not in columns:
            told = f"no column {needed!r} in the header row; the columns are {listing(columns)}"
            raise InputError(told + (NAME_TEXT if needed == options.text_field else ""))
    if len(set(columns)) < len(columns):
        raise InputError(f"two columns share a name in the header row: {listing(columns)}")


def told_apart(columns: Iterable[str], options: ReadOptions) -> Iterator[str]:
    """Columns, each with a number if one before it has its name and nobody needs it by that."""
    seen, needed = Counter[str](), {"", *needed_columns(options)}
    for name in columns:
        seen[name] += 1
        yield f"{name} {seen[name]}" if seen[name] > 1 and name not in needed else name


def read_csv(
    source: str, stream: BinaryIO, options: ReadOptions, *, delimiter: str | None = None
) -> DocumentStream:
    """Yield a document or bad record for every row.

    Cells are separated as the options say or else by ``delimiter``; None sees it in the header.
    """
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))
    with open_text(stream, options.encoding, newline="") as (text, encoding):
        lines = _Lines(text)
        delimiter = _delimiter(lines, options, options.delimiter or delimiter)
        rows = lines.rows(delimiter)
        header = next(rows, None)
        if header is None:
            yield bad_record(source, None, "empty", "")
            return
        try:
            columns = list(told_apart(_cells(header, encoding), options))
            check_columns([name for name in columns if name], options)
        except InputError as error:
            yield Record(header.line, error, header.text).bad(source, error)
            return
        told: Counter[str] = Counter()
        records = _records(rows, columns, encoding, options, told)
        yield from documents_of(source, records, options)
        yield from notes_of(source, told)


read_tsv = partial(read_csv, delimiter="\t")


class _Lines:
    """The lines of a table, some of which are read again.

    A quote that is never closed takes all further lines into its cell. Then only the first of
    them is a bad record, and the others are read again, unless that would read the file more than
    twice.
    """

    def __init__(self, text: TextIO) -> None:
        self._text = text
        self._again: deque[str] = deque()
        self._taken: list[str] = []
        self._size = 0
        self._read = self._reread = 0
        self._number = 1

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self._again:
            line = self._again.popleft()
        else:
            line = read_line(self._text)
            self._read += len(line)
        if not line:
            raise StopIteration
        self._taken.append(line)
        self._size += len(line)
        if self._size > LONGEST_LINE:
            raise InputError(f"a row of more than {LONGEST_LINE:,} characters; check the quotes")
        return line

    def first(self) -> str:
        """The first line that is not blank, which is read again; empty if there is none."""
        while (line := read_line(self._text)).isspace():
            self._number += 1
        self._again.extend([line] if line else [])
        return line

    def skip(self) -> None:
        """Do not read the first line."""
        self._again.popleft()
        self._number += 1

    def rows(self, delimiter: str) -> Iterator[_Row]:
        """The rows that are not blank."""
        while True:
            reader = csv.reader(self, delimiter=delimiter, strict=True)
            cells: list[str] | InputError = []
            while isinstance(cells, list):
                self._taken.clear()
                self._size = 0
                try:
                    cells = next(reader)
                except StopIteration:
                    return
                except csv.Error as wrong:
                    cells = InputError(f"not valid CSV: {wrong}; check the quotes")
                except InputError as wrong:
                    cells = wrong
                if isinstance(cells, InputError):
                    self._return_lines()
                text = "".join(self._taken)
                line, self._number = self._number, self._number + len(self._taken)
                if text.strip():
                    yield _Row(line, text.rstrip("\r\n"), cells)

    def _return_lines(self) -> None:
        """Take only the first line of a row that is not valid."""
        size = self._size - len(self._taken[0])
        if size and self._size <= LONGEST_LINE + size and self._reread + size <= 2 * self._read:
            self._reread += size
            self._again.extendleft(reversed(self._taken[1:]))
            del self._taken[1:]


def _delimiter(lines: _Lines, options: ReadOptions, chosen: str | None) -> str:
    """The delimiter of cells: as chosen, named, or seen in the header row."""
    first = lines.first()
    named = _NAMED_DELIMITER.fullmatch(first)
    if named is not None:
        lines.skip()
        return chosen or named[1]
    if chosen is not None:
        return chosen

    def fit(delimiter: str) -> tuple[int, int]:
        names = first.rstrip("\r\n").split(delimiter)
        cells = {name.strip('"') for name in names}
        return len(cells.intersection(needed_columns(options))), len(names)

    return max(DELIMITERS, key=fit)


def _records(
    rows: Iterator[_Row],
    columns: list[str],
    encoding: str,
    options: ReadOptions,
    told: Counter[str],
) -> Iterator[Record]:
    """The cells by column; an empty cell means null and is left out, unless it is the text.

    So are the cells of columns without a name, which are counted.
    """
    text, noted = options.text_field, note(encoding)
    for row in rows:
        fields: dict[str, str] | InputError
        known = {} if isinstance(row.cells, InputError) else dict(zip(columns, row.cells))  # noqa: B905
        try:
            cells = _cells(row, encoding)
            if len(cells) != len(columns):
                raise InputError(f"{len(cells)} cells, but the header has {len(columns)}")
            named = list(zip(columns, cells, strict=True))
            told[NAMELESS] += sum(not name and not is_blank(cell) for name, cell in named)
            fields = noted | {name: cell for name, cell in named if name and (cell or name == text)}
        except InputError as error:
            fields = error
        yield Record(row.line, fields, row.text, known)


def _cells(row: _Row, encoding: str) -> list[str]:
    if isinstance(row.cells, InputError):
        raise row.cells
    check_line(row.text, encoding)
    return row.cells
