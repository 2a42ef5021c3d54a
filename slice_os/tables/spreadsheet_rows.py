"""The rows of CSV files and Excel workbooks, as `slice_os.tables.spreadsheets` wrote them."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias
from zipfile import BadZipFile

from slice_os.errors import InputError, imported
from slice_os.tables.spreadsheets import unescaped

Row: TypeAlias = dict[str, Any]

# What spreadsheets put between cells, by the user's country.
_DELIMITERS = ",;\t"


def read_csv(path: Path) -> Iterator[tuple[str, Row]]:
    """Place and cells of each row, by column; empty cells are left out.

    Raises an `InputError` if the file cannot be read as CSV in UTF-8.
    """
    try:
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

    Raises:
        MissingExtraError: without openpyxl.
        InputError: if the file cannot be read as a workbook.
    """
    openpyxl = imported("openpyxl", "reading XLSX", "documents")
    from openpyxl.utils.escape import unescape

    try:
        workbook = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except (BadZipFile, KeyError, OSError, openpyxl.utils.exceptions.InvalidFileException) as error:
        raise InputError(f"{path}: cannot be read as a workbook ({error})") from None
    for sheet in workbook.worksheets:
        rows = sheet.iter_rows(values_only=True)
        columns = next(rows, ())
        for number, cells in enumerate(rows, 2):
            texts = (unescape(cell) if isinstance(cell, str) else cell for cell in cells)
            row = dict(zip(columns, texts, strict=False))
            yield f"{path}: sheet {sheet.title!r}, row {number}", _filled(row)


def _filled(row: Row) -> Row:
    return {str(name): cell for name, cell in row.items() if cell not in (None, "")}
