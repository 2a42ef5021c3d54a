"""Finds the files that PATH arguments name."""

from __future__ import annotations

import glob
import itertools
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from slice_os.errors import InputError
from slice_os.ingest.formats import READERS, format_of, reader_named
from slice_os.parts import WHOLE, Part

STDIN = "-"
DEFAULT_FORMAT = "text"


@dataclass(frozen=True, slots=True)
class Source:
    """Something to read documents from.

    Attributes:
        name: the path as given, normalised, with forward slashes; ``stdin`` for standard input.
        path: the file; None for standard input.
        format: name of its reader in `READERS`.
    """

    name: str
    path: Path | None
    format: str


def find_sources(
    paths: Iterable[str | Path], read_as: str | None = None, part: Part = WHOLE
) -> Iterator[Source]:
    """The files that PATH arguments name, each once, found while iterating.

    The arguments keep their order; the files of a folder or pattern are sorted by name.
    Folders are searched at every depth, without following links to folders. A file or folder
    that cannot be read is among the sources, so that reading it reports why. Hidden files,
    special files and files of an unknown extension are skipped, unless an argument names them.

    Args:
        paths: files, folders, glob patterns (``**`` for any depth) or ``-`` for standard input.
        read_as: the format of every file, by its name in `READERS`; None goes by the
            extension and reads standard input as text.
        part: the sources to find, by their names; there may be none.

    Raises:
        InputError: if a path does not exist or has nothing to read, if no reader has the
            format, if a named file has an unknown extension and ``read_as`` is None, or if
            standard input is to be divided into parts.
    """
    if read_as is not None:
        reader_named(read_as)
    arguments = list(dict.fromkeys(map(str, paths)))
    if STDIN in arguments and part != WHOLE:
        raise InputError(f"-: standard input has no part {part}; ingest files, or do without parts")
    for argument in arguments:
        if not any(_expand(argument, read_as)):
            raise InputError(f"{argument}: nothing to read here; {_known_formats()}")
    return (source for source in _each_once(arguments, read_as) if part.holds(source.name))


def _each_once(arguments: list[str], read_as: str | None) -> Iterator[Source]:
    seen = set()
    for argument in arguments:
        for source in _expand(argument, read_as):
            if source.name not in seen:
                seen.add(source.name)
                yield source


def _known_formats() -> str:
    extensions = " ".join(itertools.chain(*(reader.extensions for reader in READERS.values())))
    return f"known extensions are {extensions}; for others, choose --format {'|'.join(READERS)}"


def _expand(argument: str, read_as: str | None) -> Iterator[Source]:
    """The sources of one argument."""
    if argument == STDIN:
        yield Source("stdin", None, read_as or DEFAULT_FORMAT)
        return
    path = Path(argument)
    # An empty argument is far more often an unset shell variable than the current folder.
    mode = _mode(path) if argument else None
    if mode is None:
        matches = sorted(glob.glob(argument, recursive=True))  # noqa: PTH207  Path.glob refuses absolute patterns and matches hidden files
        if not matches:
            raise InputError(
                f"{argument!r}: no such file or folder, and no file matches it as a pattern"
            )
        for match in map(Path, matches):
            yield from _walk(match, read_as) if match.is_dir() else _entry(match, read_as)
    elif stat.S_ISDIR(mode):
        yield from _walk(path, read_as)
    else:
        known = read_as or format_of(path)
        if known is None:
            raise InputError(f"{argument}: unknown extension {path.suffix!r}; {_known_formats()}")
        yield Source(_name(path), path, known)


def _walk(folder: Path, read_as: str | None) -> Iterator[Source]:
    errors: list[OSError] = []
    for root, folders, files in os.walk(folder, onerror=errors.append):
        here = Path(root)
        folders[:] = sorted(
            name for name in folders if not (_hidden(name) or (here / name).is_symlink())
        )
        for name in sorted(files):
            if not _hidden(name):
                yield from _entry(here / name, read_as)
    for error in errors:
        unreadable = Path(os.fsdecode(error.filename))
        yield Source(_name(unreadable), unreadable, read_as or DEFAULT_FORMAT)


def _entry(path: Path, read_as: str | None) -> Iterator[Source]:
    """A file found in a folder or by a pattern, unless it is to be skipped."""
    known = read_as or format_of(path)
    mode = _mode(path)
    if known is not None and (mode is None or stat.S_ISREG(mode)):
        yield Source(_name(path), path, known)


def _hidden(name: str) -> bool:
    return name.startswith(".")


def _mode(path: Path) -> int | None:
    """Type and permission bits; None if the file cannot be examined."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return None


def _name(path: Path) -> str:
    # A file name need not be UTF-8, but it becomes a document id, which must be.
    name = Path(os.path.normpath(path)).as_posix()
    return name.encode("utf-8", "backslashreplace").decode("utf-8")
