"""Tables as CSV, safe to open in a spreadsheet, and as Excel workbooks."""

from __future__ import annotations

import csv
import logging
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from slice_os.errors import InputError, imported
from slice_os.tables.table import Cell, Table, joined

Row: TypeAlias = dict[str, Any]

# What spreadsheets put between cells, by the user's country.
_DELIMITERS = ",;\t"

LONGEST_CELL = 32_767
MOST_ROWS = 1_048_576
MOST_COLUMNS = 16_384
LARGEST, MOST_CELLS = 1 << 28, 1 << 26
"""Bytes to which an Office file may unpack, and the cells of a workbook that is read."""
# Excel keeps fifteen digits of a number.
_EXACT = 10**15
_CUT = " […]"
_WIDTHS = {"text": 40, "texts": 30}
_OTHER_WIDTH = 12
# A spreadsheet takes a cell that begins with one of these for a formula, full-width and small ones
# too, maybe after what it leaves out. One that expects other separators begins cells within those
# that are written here.
_SIGNS = "=+\\-@\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b"
_LEFT_OUT = (
    r" \x00-\x08\x0b\x0c\x0e-\x1f\x7f-\xa0\xad\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff"
)
_AT_START = rf"'*[{_LEFT_OUT}]*[{_SIGNS}\t\r\n]"
_WITHIN = rf"['\"]*[{_LEFT_OUT}]*[{_SIGNS}]"
_FORMULA, _ESCAPED = (
    re.compile(rf"\A{mark}(?={_AT_START})|(?:\A|(?<=[;\t\r\n])){mark}(?={_WITHIN})")
    for mark in ("", "'")
)
_QUOTED = re.compile('[",;\t\r\n]')

_logger = logging.getLogger(__name__)


def read_csv(path: Path) -> Iterator[tuple[str, Row]]:
    """Place and cells of each row, by column; empty cells are left out.

    Raises an `InputError` if the file cannot be read as CSV in UTF-8.
    """
    try:
        # A passage with many turns around its hit is longer than the usual limit.
        csv.field_size_limit(max(csv.field_size_limit(), path.stat().st_size))
        with path.open(encoding="utf-8-sig", newline="") as stream:
            delimiter = max(_DELIMITERS, key=stream.readline().count)
            stream.seek(0)
            reader = csv.reader(stream, delimiter=delimiter, strict=True)
            columns = next(reader, [])
            for cells in reader:
                row = dict(zip(columns, map(unescaped, cells), strict=False))
                yield f"{path}:{reader.line_num}", _filled(row)
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8; save it as “CSV UTF-8”, or as a workbook") from None
    except (csv.Error, OSError) as error:
        raise InputError(f"{path}: cannot be read as CSV ({error})") from None


def read_xlsx(path: Path) -> Iterator[tuple[str, Row]]:
    """Place and cells of each row of every sheet, by column; empty cells are left out.

    Empty rows are, too. Raises a `MissingExtraError` without openpyxl, and an `InputError` if the
    file cannot be read as a workbook, or is too large.
    """
    openpyxl = imported("openpyxl", "reading XLSX", "documents")
    from openpyxl.utils.escape import unescape

    try:
        with zipfile.ZipFile(path) as archive:
            check_unpacked(archive)
        workbook = openpyxl.load_workbook(path, read_only=True, data_only=True)
        left = MOST_CELLS
        with closing(workbook):
            for sheet in workbook.worksheets:
                rows = sheet.iter_rows(max_row=MOST_ROWS, values_only=True)
                columns = next(rows, ())
                while columns and columns[-1] is None:
                    columns = columns[:-1]
                for number, cells in enumerate(rows, 2):
                    left -= 1 + len(columns)
                    if left < 0:
                        raise InputError(f"has more than {MOST_CELLS:,} cells")
                    texts = (unescape(cell) if isinstance(cell, str) else cell for cell in cells)
                    if row := _filled(dict(zip(columns, texts, strict=False))):
                        yield f"{path}: sheet {sheet.title!r}, row {number}", row
    except InputError as error:
        raise InputError(f"{path}: {error}; save it as “CSV UTF-8”") from None
    except Exception as error:  # the libraries below raise many kinds
        raise InputError(f"{path}: cannot be read as a workbook ({error})") from None


def check_unpacked(archive: zipfile.ZipFile) -> None:
    """Raise an `InputError` if an Office file unpacks to more than `LARGEST` bytes."""
    if sum(entry.file_size for entry in archive.infolist()) > LARGEST:
        raise InputError(f"unpacks to more than {LARGEST >> 20} MiB")


def _filled(row: Row) -> Row:
    return {str(name): cell for name, cell in row.items() if cell not in (None, "")}


def write_csv(table: Table, path: Path) -> None:
    """Write UTF-8 with a header, as in RFC 4180.

    Where a spreadsheet could take text for a formula, whichever separator it expects, there is an
    apostrophe before it. A missing value becomes an empty cell, and a list of texts is joined by
    "; ".
    """
    with path.open("w", encoding="utf-8", newline="") as stream:
        for row in chain([[one.name for one in table.columns]], table):
            stream.write(",".join(map(_written, row)) + "\r\n")


def _written(cell: Cell) -> str:
    if cell is None:
        return ""
    if isinstance(cell, (int, float)):
        return str(cell).lower()  # as in true
    text = _FORMULA.sub("'", cell if isinstance(cell, str) else joined(cell))
    # More than RFC 4180 asks: another separator would end the cell.
    return f'"{text.replace(chr(34), chr(34) * 2)}"' if _QUOTED.search(text) else text


def unescaped(cell: str) -> str:
    """The text of a cell of `write_csv`."""
    return _ESCAPED.sub("", cell)


def write_xlsx(table: Table, path: Path, most_rows: int = MOST_ROWS) -> None:
    """Write a workbook; rows beyond the length of a sheet follow on further sheets.

    No text becomes a formula or a link, and a list of texts is joined by "; ". Control characters
    are written as Excel escapes them. A text longer than a cell is cut, marked, and noted in the
    log. Whole numbers of more than fifteen digits become texts.

    Raises a `MissingExtraError` without XlsxWriter, an `InputError` on more columns than a sheet
    has, or on too large a file, and an `OSError` on one that cannot be written.
    """
    xlsxwriter = imported("xlsxwriter", "XLSX", "tables")
    if len(table.columns) > MOST_COLUMNS:
        raise InputError(
            f"{len(table.columns):,} columns, of which XLSX holds {MOST_COLUMNS:,}; "
            "write .csv, .parquet or .jsonl"
        )
    cut = 0
    try:
        with (
            # The library leaves its files after an error.
            TemporaryDirectory(dir=path.parent, ignore_cleanup_errors=True) as scratch,
            xlsxwriter.Workbook(path, {"constant_memory": True, "tmpdir": scratch}) as workbook,
        ):
            bold = workbook.add_format({"bold": True})
            for number, rows in enumerate(_sheets(iter(table), most_rows - 1), 1):
                sheet = workbook.add_worksheet("hits" if number == 1 else f"hits {number}")
                sheet.freeze_panes(1, 0)
                for place, column in enumerate(table.columns):
                    sheet.set_column(place, place, _WIDTHS.get(column.kind, _OTHER_WIDTH))
                    sheet.write_string(0, place, column.name, bold)
                last = 0
                for last, row in enumerate(rows, 1):
                    for place, cell in enumerate(row):
                        cut += _write_cell(sheet, last, place, cell)
                sheet.autofilter(0, 0, last, len(table.columns) - 1)
    except xlsxwriter.exceptions.FileCreateError as error:
        raise OSError(*error.args[0].args) from None  # without the name of one of its files
    except xlsxwriter.exceptions.XlsxFileError as error:
        raise InputError(
            f"XLSX: cannot be written ({error}); write .csv, .parquet or .jsonl"
        ) from None
    if number > 1:
        _logger.warning("XLSX: %d sheets, because a sheet holds %s rows", number, f"{most_rows:,}")
    if cut:
        _logger.warning(
            "XLSX: %d texts were cut and end in %r, because a cell holds %s characters; CSV and "
            "Parquet hold all",
            cut,
            _CUT.strip(),
            f"{LONGEST_CELL:,}",
        )


def _sheets(rows: Iterator[tuple[Cell, ...]], most: int) -> Iterator[Iterator[tuple[Cell, ...]]]:
    """The rows of each sheet; the first one may be empty."""
    yield islice(rows, most)
    for first in rows:
        yield chain([first], islice(rows, most - 1))


def _write_cell(sheet: Any, row: int, place: int, cell: Cell) -> bool:
    """Write a cell; returns whether it was cut."""
    if cell is None:
        return False
    if isinstance(cell, bool) or (isinstance(cell, (int, float)) and abs(cell) < _EXACT):
        write = sheet.write_boolean if isinstance(cell, bool) else sheet.write_number
        write(row, place, cell)
        return False
    text = joined(cell) if isinstance(cell, list) else str(cell)
    fitting = _fitting(text)
    sheet.write_string(row, place, fitting)
    return fitting != text


def _fitting(text: str) -> str:
    """As much of a text as a cell holds; Excel counts units of UTF-16."""
    packed = text.encode("utf-16-le")
    if len(packed) <= 2 * LONGEST_CELL:
        return text
    return packed[: 2 * (LONGEST_CELL - len(_CUT))].decode("utf-16-le", "ignore") + _CUT


WRITERS: dict[str, Callable[[Table, Path], None]] = {".csv": write_csv, ".xlsx": write_xlsx}
"""By the ending of a file's name."""
