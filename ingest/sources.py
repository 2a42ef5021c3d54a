"""The files that PATH arguments name."""

from __future__ import annotations

import glob
import itertools
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from slice_os.errors import InputError
from slice_os.ingest.formats import format_of, reader_named, readers
from slice_os.ingest.readers.reader import is_hidden
from slice_os.stores.protocol import WHOLE, WorkShare
from slice_os.text.documents import check_text

STDIN = "-"
PIPED = "stdin"
DEFAULT_FORMAT = "text"
_MOST_KINDS = 10
_DEEP = re.compile(r"(?:^|(?<=[/\\]))\*\*(?:[/\\]+|$)")
_LEADS_OUT = "link that leads out of the folder"
# Streams that this process was given, such as those that a shell names in place of a command.
_GIVEN = ("/dev/fd/", "/dev/std", "/proc/self/fd/")


@dataclass(frozen=True, slots=True)
class Source:
    """A file, or a stream, of documents.

    Attributes:
        name: in the store: the real path of the file, or a path below the name that was given;
            ``stdin`` for a stream without a name.
        path: the file; None for standard input.
        format: name of its reader.
        ids: beginning of the ids of its documents, unless its records have ids; by default its
            name. For a file, the path below the folder or pattern that was given.
        id_prefix: put before the id of every document.
    """

    name: str
    path: Path | None
    format: str
    ids: str = ""
    id_prefix: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "ids", self.ids or self.name)

    @property
    def adds(self) -> bool:
        """Whether it adds to what came from it before, as a stream without a name does."""
        return self.name == PIPED


class _Entry(NamedTuple):
    """A file, the folder that ids are relative to, its format, or a kind to count skipped ones."""

    path: Path
    below: Path
    format: str | None
    kind: str = ""


@dataclass(slots=True)
class Sources:
    """The files that PATH arguments name, each once, found while iterating; see `find_sources`.

    Attributes:
        name: that was given for the sources; None names each by its real path.
        skipped: number of files without a reader found so far, by extension.
        names: the real paths of all files found so far, by name.
    """

    _arguments: list[str]
    _read_as: str | None
    _part: WorkShare
    name: str | None
    _id_prefix: str
    _store_folder: str | None
    _follow_links: bool
    skipped: Counter[str] = field(default_factory=Counter)
    names: dict[str, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Source]:
        self.skipped.clear()
        self.names.clear()
        seen: set[str] = set()
        for argument in self._arguments:
            if argument == STDIN:
                yield self._stream(None, self._read_as or DEFAULT_FORMAT)
                continue
            for entry in _expand(argument, self._read_as, self._store_folder, self._follow_links):
                ids = _utf8(os.path.relpath(entry.path, entry.below))
                real = real_path(entry.path)
                name = f"{self.name}/{ids}" if self.name else real
                first = self.names.setdefault(name, real)
                if first != real:
                    raise InputError(
                        f"{real}: {first} is {name}, too; ingest them one after the other, "
                        "each with a --source of its own"
                    )
                if entry.kind == _LEADS_OUT:
                    self.skipped[entry.kind] += self._part.holds(ids)
                    continue  # an argument may name the file itself
                if real in seen or not self._part.holds(ids):
                    continue
                seen.add(real)
                mode = _mode(entry.path) or stat.S_IFREG
                if entry.format is None:
                    self.skipped[entry.kind] += 1
                elif not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                    yield self._stream(entry.path, entry.format)
                else:
                    yield Source(name, entry.path, entry.format, ids, self._id_prefix)

    @property
    def folders(self) -> Iterator[Path]:
        """The real folders among the arguments, and those that patterns search."""
        for argument in self._arguments:
            if argument != STDIN:
                mode = _mode(Path(argument))
                if mode is None or stat.S_ISDIR(mode):
                    folder = _fixed_part(argument) if mode is None else Path(argument)
                    yield Path(real_path(folder))

    def _stream(self, path: Path | None, format_name: str) -> Source:
        return Source(self.name or PIPED, path, format_name, id_prefix=self._id_prefix)


def find_sources(
    paths: Iterable[str | Path],
    read_as: str | None = None,
    part: WorkShare = WHOLE,
    *,
    name: str | None = None,
    id_prefix: str = "",
    store_folder: Path | None = None,
    follow_links: bool = False,
) -> Sources:
    """The files that PATH arguments name, each once, found while iterating.

    The arguments keep their order; the files of a folder or pattern are sorted by name.
    Folders are searched at every depth, without following links to folders, nor links to files
    outside, unless ``follow_links``. A file or folder that cannot be read is among the sources, so
    that reading it reports why. Special files, such links and files of an unknown extension are
    skipped and counted, unless an argument names them; hidden files are skipped.

    Arguments are those of `Corpus.ingest`; a part is by the paths below the arguments, and may be
    empty. The folder of the store is not searched.

    Raises an `InputError` on a path with nothing to read, a pipe, socket or device that no shell
    has opened, an unknown format or extension, a part of standard input, or a name that cannot be
    one.
    """
    if read_as is not None:
        reader_named(read_as)
    if name is not None:
        check_text(name, "--source")
        unusable = name in ("", ".", PIPED, STDIN) or name.startswith("/")
        if unusable or name != os.path.normpath(name):
            raise InputError(
                f"no source can have the name {name!r}; choose one such as calls or crm/2026"
            )
    check_text(id_prefix, "--id-prefix")
    arguments = list(dict.fromkeys(map(str, paths)))
    if STDIN in arguments and part != WHOLE:
        raise InputError(f"-: standard input has no part {part}; ingest files, or do without parts")
    for argument in arguments:
        if argument != STDIN:
            _check_readable(argument, read_as, follow_links)
    never = os.path.realpath(store_folder) if store_folder else None
    return Sources(arguments, read_as, part, name, id_prefix, never, follow_links)


def skipped_line(skipped: Mapping[str, int]) -> str:
    """Skipped files in words, such as ``12 files skipped: 10 .gz, 2 .pdf``."""
    total = sum(skipped.values())
    kinds = sorted(skipped.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(f"{count:,} {kind}" for kind, count in kinds[:_MOST_KINDS])
    more = sum(count for _, count in kinds[_MOST_KINDS:])
    files = "1 file" if total == 1 else f"{total:,} files"
    return f"{files} skipped: {shown}" + (f", {more:,} others" if more else "")


def real_path(path: Path) -> str:
    """The absolute path without links; of a link to nowhere, that of the link itself."""
    real = Path(os.path.realpath(path))
    if _mode(real) is None:
        real = Path(os.path.realpath(path.parent)) / path.name
    return _utf8(real)


def _check_readable(argument: str, read_as: str | None, follow_links: bool) -> None:
    skipped: Counter[str] = Counter()
    for entry in _expand(argument, read_as, None, follow_links):
        if entry.format is not None:
            return
        skipped[entry.kind] += 1
    why = f"{skipped_line(skipped)}; " if skipped else ""
    raise InputError(f"{argument}: nothing to read here; {why}{_known_formats()}")


def _known_formats() -> str:
    known = readers()
    extensions = " ".join(itertools.chain(*(reader.extensions for reader in known.values())))
    return f"known extensions are {extensions}; for others, choose --format {'|'.join(known)}"


def _expand(
    argument: str, read_as: str | None, store_folder: str | None, follow_links: bool
) -> Iterator[_Entry]:
    path = Path(argument)
    # An empty argument is far more often an unset shell variable than the current folder.
    mode = _mode(path) if argument else None
    if mode is None:
        matches = sorted(set(_matches(argument, store_folder)))
        if not matches:
            raise InputError(
                f"{argument!r}: no such file or folder, and no file matches it as a pattern"
            )
        below = _fixed_part(argument)
        for match in matches:
            if not follow_links and _leads_out(match, below):
                yield _Entry(match, below, None, _LEADS_OUT)
            elif _is_folder(match):
                yield from _walk(match, below, read_as, store_folder, follow_links)
            else:
                yield _entry(match, below, read_as)
    elif stat.S_ISDIR(mode):
        yield from _walk(path, path, read_as, store_folder, follow_links)
    elif not stat.S_ISREG(mode) and not argument.startswith(_GIVEN):
        # Nobody may ever write to it, or it may never end.
        told = f"a pipe, a socket or a device, no file; give - and redirect it: < {argument}"
        raise InputError(f"{argument}: {told}")
    else:
        known = read_as or format_of(path)
        if known is None:
            raise InputError(f"{argument}: unknown extension {path.suffix!r}; {_known_formats()}")
        yield _Entry(path, path.parent, known)


def _walk(
    folder: Path, below: Path, read_as: str | None, store_folder: str | None, follow_links: bool
) -> Iterator[_Entry]:
    for here, found in _folders(folder, store_folder):
        if found is None:
            yield _Entry(here, below, read_as or DEFAULT_FORMAT)
            continue
        for one in found:
            path = here / one.name
            if one.is_symlink() and _is_folder(path):
                yield _Entry(path, below, None, "linked folder")
            elif one.is_symlink() and not follow_links and _leads_out(path, below):
                yield _Entry(path, below, None, _LEADS_OUT)
            elif not one.is_dir(follow_symlinks=False):
                yield _entry(path, below, read_as)


def _matches(pattern: str, store_folder: str | None) -> Iterator[Path]:
    """What a pattern matches, maybe twice, and folders that cannot be read to tell."""
    deep = _DEEP.search(pattern)
    if deep is None:
        yield from map(Path, glob.glob(pattern))  # noqa: PTH207  Path.glob refuses absolute patterns and matches hidden files
        return
    after = pattern[deep.end() :]
    for top in _matches(pattern[: deep.start()] or ".", store_folder):
        if not after:
            yield top  # which is read at every depth
            continue
        for here, found in _folders(top, store_folder):
            inside = f"{glob.escape(str(here))}/{after}"
            yield from [here] if found is None else _matches(inside, store_folder)


def _folders(
    top: Path, store_folder: str | None
) -> Iterator[tuple[Path, list[os.DirEntry[str]] | None]]:
    """Folders at every depth, and what is in them; None if that cannot be told.

    Links to folders are not followed, and what is hidden is not there.
    """
    waiting = [top]
    while waiting:  # os.walk calls itself for each level, of which there may be too many
        here = waiting.pop()
        if store_folder and os.path.realpath(here) == store_folder:
            continue
        try:
            with os.scandir(here) as found:
                seen = [one for one in found if not is_hidden(one.name)]
        except OSError:
            yield here, None
            continue
        seen.sort(key=lambda one: one.name)
        yield here, seen
        waiting += (Path(one) for one in reversed(seen) if one.is_dir(follow_symlinks=False))


def _entry(path: Path, below: Path, read_as: str | None) -> _Entry:
    mode = _mode(path)
    if mode is not None and not stat.S_ISREG(mode):
        return _Entry(path, below, None, "special file")
    kind = _utf8(path.suffix.lower()) if path.suffix else "without extension"
    return _Entry(path, below, read_as or format_of(path), kind)


def _leads_out(path: Path, below: Path) -> bool:
    """Whether a file is not in a folder, but a link in it leads there; of a broken one, nowhere."""
    real = os.path.realpath(path)
    there = _mode(Path(real)) is not None
    return there and not Path(real).is_relative_to(os.path.realpath(below))


def _is_folder(path: Path) -> bool:
    return stat.S_ISDIR(_mode(path) or 0)


def _mode(path: Path) -> int | None:
    """Type and permission bits; None if the file cannot be examined."""
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return None


def _fixed_part(pattern: str) -> Path:
    return Path(*itertools.takewhile(lambda part: not glob.has_magic(part), Path(pattern).parts))


def _utf8(path: str | Path) -> str:
    # A file name need not be UTF-8, but it becomes a document id, which must be.
    return Path(path).as_posix().encode("utf-8", "backslashreplace").decode("utf-8")
