"""The data sets that recipes, harnesses and benchmarks name: their sources and checksums."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from pathlib import Path

import orjson

from slice_os.errors import InputError
from slice_os.records import decode

CATALOG_FILE = Path(__file__).with_name("catalog.json")
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of a data set: its path in the data folder, and hash and size of what it unpacks to.

    ``derived`` says how it is made from the published files; it is empty if it is one of them.
    """

    path: str
    sha256: str
    bytes: int
    derived: str = ""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set as published; ``use`` has ``training``, ``evaluation`` or ``benchmarks``."""

    name: str
    title: str
    home: str
    version: str
    license: str
    use: tuple[str, ...]
    files: tuple[ListedFile, ...]
    note: str = ""


class State(str, Enum):
    """The finding at the path of a file."""

    RIGHT = "right"
    MISSING = "missing"
    DIFFERENT = "different"


@dataclass(frozen=True, slots=True)
class Checked:
    """The result for one file; ``found`` is None if it is missing or cannot be unpacked."""

    dataset: str
    path: str
    state: State
    expected: str
    found: str | None


@lru_cache(maxsize=1)
def catalog() -> tuple[Dataset, ...]:
    """All data sets that the package knows."""
    entries: tuple[Dataset, ...]
    entries = decode(tuple[Dataset, ...], orjson.loads(CATALOG_FILE.read_bytes()), "catalog")
    return entries


def check(folder: Path) -> Iterator[Checked]:
    """Compare the files of a data folder with the catalog, in its order; or an `InputError`."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; give the data folder")
    for name, file in ((one.name, file) for one in catalog() for file in one.files):
        path = folder / file.path
        found = content_sha256(path) if path.is_file() else None
        other = State.DIFFERENT if path.exists() else State.MISSING
        state = State.RIGHT if found == file.sha256 else other
        yield Checked(name, file.path, state, file.sha256, found)


def content_sha256(path: Path) -> str | None:
    """sha256 of a file's content, unpacked if its name ends in ``.gz``; None if it is damaged."""
    digest = hashlib.sha256()
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            while block := stream.read(_BLOCK):
                digest.update(block)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        return None
    return digest.hexdigest()
