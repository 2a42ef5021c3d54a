"""From PATH arguments to the files to read."""

from __future__ import annotations

import glob
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from slice_os.errors import InputError

STDIN = "-"


class Format(str, Enum):
    """How the bytes of a source are read."""

    TEXT = "text"
    JSONL = "jsonl"
    CSV = "csv"
    TSV = "tsv"
    VTT = "vtt"
    SRT = "srt"


EXTENSIONS = {
    ".txt": Format.TEXT,
    ".md": Format.TEXT,
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".csv": Format.CSV,
    ".tsv": Format.TSV,
    ".vtt": Format.VTT,
    ".srt": Format.SRT,
}


@dataclass(frozen=True, slots=True)
class Source:
    """Something to read documents from.

    Attributes:
        name: the path as given, normalised, with forward slashes; ``stdin`` for standard input.
        path: where it is; None for standard input.
        format: how its bytes are read.
    """

    name: str
    path: Path | None
    format: Format


class Sources:
    """The sources that PATH arguments stand for, each once; made by `find_sources`.

    Attributes:
        passed_over: entries of folders and patterns that the last iteration left out: hidden,
            links to folders, not regular files, or of an unknown extension.
    """

    def __init__(self, arguments: list[str], read_as: Format | None) -> None:
        self.passed_over = 0
        self._arguments = arguments
        self._read_as = read_as

    def __iter__(self) -> Iterator[Source]:
        self.passed_over = 0
        seen = set()
        for argument in self._arguments:
            for source in _expand(argument, self._read_as):
                if source is None:
                    self.passed_over += 1
                elif source.name not in seen:
                    seen.add(source.name)
                    yield source


def find_sources(paths: Iterable[str | Path], read_as: Format | None = None) -> Sources:
    """The files to read for PATH arguments, found while iterating.

    The arguments keep their order; inside a folder or pattern the order is that of the names.
    Folders are searched at every depth, without following links to folders. A file or folder
    that cannot be read is among the sources, so that reading it reports why.

    Args:
        paths: files, folders, glob patterns (``**`` for any depth) or ``-`` for standard input.
        read_as: the format of every file, whatever its extension; None goes by extension and
            reads standard input as text.

    Raises:
        InputError: on a path that does not exist or gives nothing to read, and on a file of an
            unknown extension unless ``read_as`` is given.
    """
    arguments = list(dict.fromkeys(map(str, paths)))
    for argument in arguments:
        if not any(_expand(argument, read_as)):
            raise InputError(f"{argument}: nothing to read here; {_FORMATS_HELP}")
    return Sources(arguments, read_as)


_FORMATS_HELP = (
    f"known extensions are {' '.join(EXTENSIONS)}; for others choose with "
    f"--format {'|'.join(known.value for known in Format)}"
)


def _expand(argument: str, read_as: Format | None) -> Iterator[Source | None]:
    """The sources of one argument, with None for every entry that is passed over."""
    if argument == STDIN:
        yield Source("stdin", None, read_as or Format.TEXT)
        return
    path = Path(argument)
    # An empty argument is an unset shell variable far more often than the current folder.
    mode = _mode(path) if argument else None
    if mode is None:
        matches = sorted(glob.glob(argument, recursive=True))  # noqa: PTH207  Path.glob refuses absolute patterns and takes hidden files
        if not matches:
            raise InputError(f"{argument!r}: no such file or folder, and no match as a pattern")
        for match in map(Path, matches):
            yield from _walk(match, read_as) if match.is_dir() else [_entry(match, read_as)]
    elif stat.S_ISDIR(mode):
        yield from _walk(path, read_as)
    else:
        known = read_as or _format_of(path)
        if known is None:
            raise InputError(f"{argument}: unknown extension {path.suffix!r}; {_FORMATS_HELP}")
        yield Source(_name(path), path, known)


def _walk(folder: Path, read_as: Format | None) -> Iterator[Source | None]:
    errors: list[OSError] = []
    for root, folders, files in os.walk(folder, onerror=errors.append):
        here = Path(root)
        left_out = [name for name in folders if _hidden(name) or (here / name).is_symlink()]
        yield from [None] * len(left_out)
        folders[:] = sorted(set(folders) - set(left_out))
        for name in sorted(files):
            yield None if _hidden(name) else _entry(here / name, read_as)
    for error in errors:
        unreadable = Path(os.fsdecode(error.filename))
        yield Source(_name(unreadable), unreadable, read_as or Format.TEXT)


def _entry(path: Path, read_as: Format | None) -> Source | None:
    """The source of a file that was found, not named; None if it is passed over."""
    known = read_as or _format_of(path)
    mode = _mode(path)
    if known is None or not (mode is None or stat.S_ISREG(mode)):
        return None
    return Source(_name(path), path, known)


def _format_of(path: Path) -> Format | None:
    return EXTENSIONS.get(path.suffix.lower())


def _hidden(name: str) -> bool:
    return name.startswith(".")


def _mode(path: Path) -> int | None:
    """Type and permission bits, or None if they cannot be had."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return None


def _name(path: Path) -> str:
    # A file name need not be UTF-8, but it becomes a document id, which has to be.
    name = Path(os.path.normpath(path)).as_posix()
    return name.encode("utf-8", "backslashreplace").decode("utf-8")
