"""Excel files: rows as a person sees them, without what is hidden.

openpyxl refuses files with a damaged style sheet, and leaves out escapes, text boxes and hidden
rows without a word; it tells here which formats of numbers are those of dates.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from datetime import timedelta
from itertools import chain
from typing import Any, BinaryIO, TypeAlias, TypeVar

from slice_os.errors import InputError
from slice_os.ingest.readers.fields import Record
from slice_os.ingest.readers.package import Package, attribute, count, is_on, name_of
from slice_os.ingest.readers.paragraphs import Walk, unescaped
from slice_os.ingest.readers.reader import (
    FileStream,
    PackedFile,
    ReadOptions,
    Turn,
    extracted,
    needs,
)
from slice_os.ingest.readers.records import documents_of
from slice_os.ingest.readers.tables import NAMELESS, check_columns, needed_columns, told_apart

_LETTERS = re.compile("[A-Z]{1,3}(?![A-Z])")
_HIDDEN = ("hidden", "veryHidden")
_EDGES = tuple(
    f"{which}{edge}" for which in ("odd", "even", "first") for edge in ("Header", "Footer")
)
_CODE = re.compile(r'&(?:"[^"]*"|\d+|K[0-9A-F]{6}|.)')

Cell: TypeAlias = "str | int | float | bool"
T = TypeVar("T")
Row: TypeAlias = Mapping[int, Cell]
"""The cells of a row that are not empty, by the number of their column from 1."""


def read_xlsx(source: str, stream: BinaryIO, options: ReadOptions) -> FileStream:
    """Yield the rows of sheets with the text column, each a document; else the whole text.

    Files within it come next.
    """
    counts: Counter[str] = Counter()
    found: list[Record] = []
    packed: list[PackedFile] = []

    def sheets(content: BinaryIO) -> Iterator[Turn]:
        package = Package(content, counts)
        if package.main.endswith(".bin"):
            raise InputError("a binary workbook; save it as .xlsx")
        cells = _Cells(package)
        for name, part in list(_sheets(package)):
            # Rows are counted through the sheets, so that no two documents share an id.
            before = (found[-1].number or 0) if found else 0
            texts = _rows(_Sheet(package, part, cells), name, options, found, before)
            yield from (Turn(text, fields={"sheet": name}) for text in texts)
            packed.extend(package.beside(source, part))

    yield from extracted(source, stream, sheets, counts, empty=lambda: not found)
    yield from documents_of(source, found, options)
    yield from packed


def _sheets(package: Package) -> Iterator[tuple[str, str]]:
    """The names and parts of the sheets that are seen."""
    relations = package.relations(package.main)
    for sheet in package.root(package.main).iterfind("{*}sheets/{*}sheet"):
        relation = relations.get(attribute(sheet, "id"))
        if sheet.get("state") in _HIDDEN:
            count(package.counts, "hidden sheets left out")
        elif relation is not None:
            yield sheet.get("name", ""), relation.part


def _rows(
    sheet: _Sheet, name: str, options: ReadOptions, found: list[Record], before: int
) -> Iterator[str]:
    """Yield the text of a sheet; the rows of a table are added to ``found``."""
    rows = sheet.rows()
    first = next(rows, (0, {}))
    columns = {at: str(cell).strip() for at, cell in first[1].items()}
    if options.text_field in columns.values():
        named = {options.id_field, *needed_columns(options), *(options.metadata_fields or ())}
        columns = sheet.seen(columns, {at for at, one in columns.items() if one in named})
        columns = dict(zip(columns, told_apart(columns.values(), options), strict=True))
        try:
            check_columns([one for one in columns.values() if one], options)
        except InputError as error:
            found.append(Record(before + 1, error, _line(first[1])))
            return
        for number, row in rows:
            nameless = sum(not columns.get(at) for at in row if not sheet.hides(at))
            count(sheet.counts, NAMELESS, nameless)
            fields: dict[str, Any] = {"sheet": name}
            for at, column in columns.items():
                if column and (at in row or column == options.text_field):
                    fields[column] = row.get(at)
            found.append(Record(before + number, fields, _line(row)))
    else:
        yield from (_line(sheet.seen(row)) for _, row in chain([first], rows))
    yield from sheet.drawn()


def _line(row: Row) -> str:
    return "\t".join(map(str, row.values()))


class _Sheet:
    """A sheet, and which of its columns are hidden."""

    def __init__(self, package: Package, part: str, cells: _Cells) -> None:
        self._package, self._part, self._cells = package, part, cells
        self.counts = package.counts
        self._hidden: list[tuple[int, int]] = []
        self._left_out: set[int] = set()

    def rows(self) -> Iterator[tuple[int, Row]]:
        """The rows that are seen and not empty, with their numbers."""
        number = 0
        for element in self._package.elements(self._part, "col", "row", *_EDGES):
            name = name_of(element)
            hidden = is_on(element.get("hidden"))
            if name == "row":
                number = _whole(element.get("r"), number + 1)
                row = dict(self._cells.row(element))
                count(self._package.counts, "hidden rows left out", hidden and bool(row))
                if row and not hidden:
                    yield number, row
            elif name == "col" and hidden:
                self._hidden.append((_whole(element.get("min")), _whole(element.get("max"))))
            elif name in _EDGES and _CODE.sub("", element.text or "").strip():
                count(self._package.counts, "headers and footers left out")

    def hides(self, at: int) -> bool:
        """Whether a column is hidden."""
        return any(first <= at <= last for first, last in self._hidden)

    def seen(self, row: Mapping[int, T], named: Set[int] = frozenset()) -> dict[int, T]:
        """The cells of a row that are not in a hidden column, or in one of those that are named."""
        hidden = {at for at in row if at not in named and self.hides(at)}
        count(self._package.counts, "hidden columns left out", len(hidden - self._left_out))
        self._left_out |= hidden
        return {at: cell for at, cell in row.items() if at not in hidden}

    def drawn(self) -> Iterator[str]:
        """The texts of boxes, charts and SmartArt; charts repeat cells that are seen."""
        hidden = any(kind.startswith("hidden") for kind in self._package.counts)
        for part in self._package.related(self._part, "drawing"):
            walk = Walk(self._package, part, repeats=not hidden)
            yield from (line.text for line in walk.lines(self._package.root(part)))


class _Cells:
    """Gives the values of cells."""

    def __init__(self, package: Package) -> None:
        root = package.root(package.main)
        properties = root.find("{*}workbookPr")
        dates = needs("openpyxl.utils.datetime")
        from_1904 = properties is not None and is_on(properties.get("date1904"))
        self._epoch = dates.CALENDAR_MAC_1904 if from_1904 else dates.CALENDAR_WINDOWS_1900
        self._from_excel = dates.from_excel
        self._column = needs("openpyxl.utils").column_index_from_string
        self._walk = Walk(package, package.main)
        self._counts = package.counts
        self._kinds = list(_kinds(package))
        self._strings = dict(
            enumerate(
                self._walk.text(one)
                for part in package.related(package.main, "sharedStrings")
                for one in package.elements(part, "si")
            )
        )

    def row(self, row: Any) -> Iterator[tuple[int, Cell]]:
        """The cells of a row that are not empty."""
        at = 0
        for cell in row:
            place = _LETTERS.match(cell.get("r", ""))
            at = self._column(place[0]) if place else at + 1
            value = self._value(cell)
            if value not in (None, ""):
                yield at, value

    def _value(self, cell: Any) -> Cell | None:
        kind = cell.get("t", "n")
        if kind == "inlineStr":
            return self._walk.text(cell)
        stored = cell.findtext("{*}v") or ""
        if not stored:
            missing = kind != "str" and cell.find("{*}f") is not None
            count(self._counts, "formulas without a stored value", missing)
            return None
        if kind == "s":
            text = self._strings.get(_whole(stored, -1))
            count(self._counts, "cells without their text", text is None)
            return text
        if kind == "b":
            return stored == "1"
        if kind == "n":
            with suppress(ValueError):  # what is no number is shown as it is
                return self._number(stored, _whole(cell.get("s")))
        return unescaped(stored)

    def _number(self, stored: str, style: int) -> Cell:
        value = float(stored) if re.search("[.eE]", stored) else int(stored)
        kind = self._kinds[style] if style < len(self._kinds) else ""
        if kind:
            with suppress(ValueError, OverflowError):  # no date is so far away
                found = self._from_excel(value, self._epoch, timedelta=kind == "duration")
                return _clock(found) if isinstance(found, timedelta) else found.isoformat()
        return value


def _whole(written: str | None, otherwise: int = 0) -> int:
    """A number in an attribute, or another one where it is missing or damaged."""
    return int(written) if written and written.isdecimal() and len(written) < 10 else otherwise


def _kinds(package: Package) -> Iterator[str]:
    """For each style of cells, whether its numbers are a ``date`` or a ``duration``; or empty."""
    numbers = needs("openpyxl.styles.numbers")
    for part in package.related(package.main, "styles"):
        root = package.root(part, "damaged styles, so that dates are numbers")
        codes = {str(number): code for number, code in numbers.BUILTIN_FORMATS.items()}
        for one in root.iterfind("{*}numFmts/{*}numFmt"):
            codes[one.get("numFmtId")] = one.get("formatCode")
        for style in root.iterfind("{*}cellXfs/{*}xf"):
            code = codes.get(style.get("numFmtId")) or ""
            is_date = numbers.is_date_format(code)
            yield "duration" if numbers.is_timedelta_format(code) else "date" if is_date else ""


def _clock(duration: timedelta) -> str:
    """A duration as ``H:MM:SS``, with a fraction if it has one."""
    minutes, seconds = divmod(abs(duration).total_seconds(), 60)
    hours, minutes = divmod(int(minutes), 60)
    sign = "-" if duration < timedelta(0) else ""
    return f"{sign}{hours}:{minutes:02}:{seconds:06.3f}".removesuffix(".000")
