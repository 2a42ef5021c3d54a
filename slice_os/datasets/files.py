"""Data files: read from a path, never bundled, with errors that say what was expected."""

from __future__ import annotations

import codecs
import csv
import gzip
import hashlib
import io
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import orjson

from slice_os.errors import InputError

LONGEST = 1 << 31
"""Bytes of the longest data file after unpacking."""

_GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file that figures were computed from: name, hash of its bytes, and rows used."""

    name: str
    sha256: str
    rows: int

    @classmethod
    def of(cls, path: Path, rows: int) -> DataFile:
        """Describe a file of which ``rows`` rows were used."""
        return cls(path.name, hashlib.sha256(path.read_bytes()).hexdigest(), rows)


@dataclass(frozen=True, slots=True)
class DataSource:
    """A data file in words, and where to get it or how to make it, if known."""

    expected: str
    home: str = ""

    def missing(self, path: Path) -> InputError:
        """The error for a path at which there is nothing."""
        return self.malformed(path, "not found")

    def malformed(self, path: Path, reason: str) -> InputError:
        """The error for a file with other content than expected."""
        home = f"; get it at {self.home}" if self.home else ""
        return InputError(f"{path}: {reason}; expected {self.expected}{home}")

    def read(self, path: Path) -> bytes:
        """The bytes of a file, unpacked if gzipped, without a byte order mark; or `InputError`."""
        if not path.exists():
            raise self.missing(path)
        if path.is_dir():
            raise self.malformed(path, "is a folder")
        try:
            content = path.read_bytes()
        except OSError as error:
            raise self.malformed(path, f"cannot be read ({error.strerror})") from None
        if path.suffix == ".gz" or content.startswith(_GZIP):
            try:
                with gzip.open(io.BytesIO(content)) as stream:
                    content = stream.read(LONGEST + 1)
            except (OSError, EOFError, zlib.error) as error:
                raise self.malformed(path, f"cannot be unpacked ({error})") from None
            if len(content) > LONGEST:
                raise self.malformed(path, f"unpacks to more than {LONGEST >> 20} MiB")
        return content.removeprefix(codecs.BOM_UTF8)

    def text(self, path: Path, fallback: str | None = None) -> str:
        """The text of a UTF-8 file with its line ends unchanged.

        A fallback is the encoding of a file that is not UTF-8; what it has no character for is
        replaced. Without one it is an `InputError`, like what `read` refuses.
        """
        content = self.read(path)
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            if fallback is not None:
                return content.decode(fallback, errors="replace")
            raise self.malformed(path, f"not UTF-8 at byte {error.start}") from None

    def json(self, path: Path) -> Any:
        """The content of a JSON file; `InputError` as for `read`, and if it is not JSON."""
        try:
            return orjson.loads(self.read(path))
        except orjson.JSONDecodeError as error:
            raise self.malformed(path, f"not valid JSON ({error})") from None

    def json_lines(self, path: Path) -> Iterator[DataRow]:
        """The objects of a JSON Lines file; `InputError` as for `read`, and if one is no object."""
        for number, line in enumerate(self.read(path).split(b"\n"), start=1):
            if not line.strip():
                continue
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                reason = f"line {number}: not valid JSON ({error})"
                raise self.malformed(path, reason) from None
            if not isinstance(record, dict):
                raise self.malformed(path, f"line {number}: not a JSON object")
            yield DataRow(self, path, number, record)

    def json_records(self, path: Path) -> Iterator[DataRow]:
        """The objects of ``.jsonl`` or of a JSON list, alone or under ``data``; or `InputError`."""
        if ".jsonl" in path.name:
            yield from self.json_lines(path)
            return
        records = self.json(path)
        if isinstance(records, dict):
            records = records.get("data")
        if not isinstance(records, list) or not all(isinstance(one, dict) for one in records):
            raise self.malformed(path, "not a list of objects, alone or under 'data'")
        for number, record in enumerate(records, start=1):
            yield DataRow(self, path, number, record, "row")

    def table(
        self,
        path: Path,
        columns: Sequence[str],
        *,
        separator: str = ",",
        quoted: bool = True,
        header: bool = True,
        fallback: str | None = None,
    ) -> Iterator[DataRow]:
        """The rows of a table with one line per row; empty lines are skipped.

        With a header, its line has to name the columns, and every row has as many cells; without
        one, columns are names for the first cells, and further ones are left out. Quotation marks
        enclose cells if they are quoted; otherwise they are plain characters. `InputError` as for
        `text`, if a column is missing, or a row has too few cells.
        """
        reader = csv.reader(
            io.StringIO(self.text(path, fallback), newline=""),
            delimiter=separator,
            quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
            strict=quoted,
        )
        names = None if header else list(columns)
        try:
            for cells in filter(None, reader):
                if names is None:
                    if missing := [name for name in columns if name not in cells]:
                        raise self.malformed(path, f"no column {', '.join(map(repr, missing))}")
                    names = cells
                    continue
                number = reader.line_num
                if len(cells) < len(names) or (header and len(cells) > len(names)):
                    reason = f"line {number}: {len(cells)} columns of {len(names)}"
                    raise self.malformed(path, reason)
                yield DataRow(self, path, number, dict(zip(names, cells, strict=False)))
        except csv.Error as error:
            reason = f"line {reader.line_num}: not a valid table ({error})"
            raise self.malformed(path, reason) from None
        if names is None:
            raise self.malformed(path, "is empty")


@dataclass(frozen=True, slots=True)
class DataRow:
    """A row of a data file and its place: the number of a line, or of a row in a JSON list."""

    source: DataSource
    path: Path
    number: int
    values: Mapping[str, Any]
    unit: str = "line"

    def text(self, name: str) -> str:
        """A field that has to hold text; `InputError` if it is absent, blank or not text."""
        value = self.values.get(name)
        if not isinstance(value, str) or not value.strip():
            raise self.malformed(f"{name!r} is {value!r:.40}; text is needed")
        return value

    def score(self, name: str, least: float = -inf, most: float = inf) -> float:
        """A field that has to hold a finite number within bounds; `InputError` if it does not."""
        value = self.values.get(name)
        try:
            parsed = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            parsed = float("nan")
        if not (least <= parsed <= most and abs(parsed) < inf):
            bounds = f" from {least:g} to {most:g}" if abs(least) < inf or abs(most) < inf else ""
            raise self.malformed(f"{name!r} is {value!r:.40}; a number{bounds} is needed")
        return parsed

    def malformed(self, reason: str) -> InputError:
        """The error for a row with other content than expected."""
        return self.source.malformed(self.path, f"{self.unit} {self.number}: {reason}")


PASSAGES = DataSource(
    "text with one passage a line, or JSON Lines with a field 'text'",
    "https://huggingface.co/datasets/Salesforce/wikitext, or write one",
)


def read_passages(path: Path) -> list[str]:
    """The passages of a file: ``text`` of ``.jsonl``, else lines; `InputError` if it has none."""
    if path.name.removesuffix(".gz").endswith(".jsonl"):
        passages = []
        for row in PASSAGES.json_lines(path):
            if not isinstance(row.values.get("text"), str):
                raise row.malformed("no field 'text'")
            passages.append(row.values["text"])
    else:
        passages = [line.strip() for line in PASSAGES.text(path).splitlines()]
    passages = [passage for passage in passages if passage.strip()]
    if not passages:
        raise PASSAGES.malformed(path, "has no passage")
    return passages
