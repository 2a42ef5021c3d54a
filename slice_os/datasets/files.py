"""Data files of the harnesses: read from a path, never bundled, and named when they fail."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import orjson

from slice_os.errors import InputError


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file that figures were made from.

    Attributes:
        name: its name, without folders.
        sha256: of its bytes as they lie there.
        rows: what was used of it.
    """

    name: str
    sha256: str
    rows: int

    @classmethod
    def of(cls, path: Path, rows: int) -> DataFile:
        """Describe a file of which ``rows`` rows were used."""
        return cls(path.name, hashlib.sha256(path.read_bytes()).hexdigest(), rows)


@dataclass(frozen=True, slots=True)
class DataSource:
    """What a data file holds and where it can be had, for messages.

    Attributes:
        expected: what the file should be, as a phrase: "a table with columns …".
        home: where it can be had: an address, or how to make it.
    """

    expected: str
    home: str

    def missing(self, path: Path) -> InputError:
        """An error for a path where nothing is."""
        return InputError(f"{path}: not found; expected {self.expected}; get it at {self.home}")

    def malformed(self, path: Path, reason: str) -> InputError:
        """An error for a file that is not what it should be."""
        return InputError(f"{path}: {reason}; expected {self.expected}; get it at {self.home}")

    def read(self, path: Path) -> bytes:
        """The bytes of a file, unpacked where its name ends in ``.gz``.

        Raises:
            InputError: if it is missing, a folder, or not gzip inside.
        """
        if not path.exists():
            raise self.missing(path)
        if path.is_dir():
            raise self.malformed(path, "is a folder")
        content = path.read_bytes()
        if path.suffix != ".gz":
            return content
        try:
            return gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise self.malformed(path, f"cannot be unpacked ({error})") from None

    def text(self, path: Path, encoding: str = "utf-8") -> str:
        """The text of a file, its line ends as they are.

        Raises:
            InputError: as `read`, and where it is not of that encoding.
        """
        try:
            return self.read(path).decode(encoding)
        except UnicodeDecodeError as error:
            raise self.malformed(path, f"not {encoding} at byte {error.start}") from None

    def json(self, path: Path) -> object:
        """What a JSON file holds.

        Raises:
            InputError: as `read`, and where it is no JSON.
        """
        try:
            return orjson.loads(self.read(path))
        except orjson.JSONDecodeError as error:
            raise self.malformed(path, f"not valid JSON ({error})") from None

    def json_lines(self, path: Path) -> Iterator[tuple[int, dict[str, object]]]:
        """The objects of a JSON-lines file, each with the number of its line.

        Raises:
            InputError: as `read`, and on a line that is no JSON object.
        """
        for number, line in enumerate(self.read(path).splitlines(), start=1):
            if not line.strip():
                continue
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise self.malformed(path, f"line {number} is not valid JSON ({error})") from None
            if not isinstance(record, dict):
                raise self.malformed(path, f"line {number} is no JSON object")
            yield number, record


PASSAGES = DataSource(
    "text, a passage a line, or JSON lines with a field 'text'",
    "https://huggingface.co/datasets/Salesforce/wikitext, or write one",
)


def read_passages(path: Path) -> list[str]:
    """The passages of a file: ``text`` of JSON lines (``.jsonl``), else the lines themselves.

    Raises:
        InputError: if the file is missing, malformed or has no passage.
    """
    if path.name.removesuffix(".gz").endswith(".jsonl"):
        passages = []
        for number, record in PASSAGES.json_lines(path):
            text = record.get("text")
            if not isinstance(text, str):
                raise PASSAGES.malformed(path, f"line {number} has no field 'text'")
            passages.append(text)
    else:
        passages = [line.strip() for line in PASSAGES.text(path).splitlines()]
    passages = [passage for passage in passages if passage.strip()]
    if not passages:
        raise PASSAGES.malformed(path, "has no passage")
    return passages
