"""Reading the files of data sets: lines, rows and JSON, with errors that say where."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from slice_os.errors import InputError

Numbered = tuple[str, Any]


def read_text(path: Path, expected: str) -> str:
    """The text of a file, gzipped or not.

    Args:
        path: the file.
        expected: what it should hold, for the error.

    Raises:
        InputError: if it is missing, cannot be unpacked or is not UTF-8.
    """
    try:
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
        return content.decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path}: not found; expected {expected}") from None
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); expected {expected}") from None


def read_jsonl(path: Path, expected: str) -> Iterator[Numbered]:
    """Where it stands and the object, for each line that is not empty."""
    for number, line in enumerate(read_text(path, expected).split("\n"), 1):
        if line.strip():
            where = f"{path}, line {number}"
            try:
                row = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise InputError(f"{where}: not valid JSON ({error})") from None
            if not isinstance(row, dict):
                raise InputError(f"{where}: not an object; expected {expected}")
            yield where, row


def read_rows(path: Path, columns: int, separator: str, expected: str) -> Iterator[Numbered]:
    """Where it stands and the fields, for each line; ``,`` reads CSV with its quotes.

    Raises:
        InputError: on a row of fewer columns.
    """
    lines = read_text(path, expected).splitlines()
    if separator == ",":
        rows: Iterator[list[str]] = csv.reader(lines, strict=True)
    else:
        rows = (line.split(separator) for line in lines)
    number = 0
    try:
        for number, row in enumerate(rows, 1):
            where = f"{path}, line {number}"
            if len(row) < columns:
                raise InputError(f"{where}: {len(row)} columns of {columns}; expected {expected}")
            yield where, [part.strip() for part in row]
    except csv.Error as error:
        raise InputError(f"{path}, line {number + 1}: not valid CSV ({error})") from None


def text_field(row: dict[str, Any], name: str, where: str) -> str:
    """A field that has to be text and not empty."""
    value = row.get(name)
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{where}: {name!r} is {value!r}; expected text")
    return value


def number(value: Any, where: str, least: float, most: float) -> float:
    """A number within bounds."""
    try:
        parsed = float(value)
    except (TypeError, ValueError):
        parsed = float("nan")
    if not least <= parsed <= most:
        raise InputError(f"{where}: {value!r} is no number from {least:g} to {most:g}")
    return parsed
