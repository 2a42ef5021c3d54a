"""Packed files: gzip, zip and tar, of any format that is read, and mailboxes of messages.

A file in an archive has the name of the archive before its own. What unpacks to far more than
its size is refused.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import chain, pairwise
from pathlib import Path
from typing import IO, BinaryIO

from slice_os.errors import ENCRYPTED, InputError
from slice_os.ingest.readers.decoding import SAMPLE, UTF8, decoded, guessed, least_odd, stream_of
from slice_os.ingest.readers.reader import (
    LONGEST_FILE,
    NO_MEMORY,
    BadRecord,
    PackedFile,
    PackedStream,
    ReadOptions,
    bad_record,
    is_hidden,
    skipped,
)

try:
    from lzma import LZMAError
except ImportError:  # a Python that unpacks none
    LZMAError = zlib.error  # type: ignore[misc,assignment]

LONGEST_UNPACKED = 1 << 34
"""Bytes that an archive may unpack to."""

# It may unpack to so many, or to so many times its size if that is more.
_USUAL_UNPACKED, _TIMES = 1 << 30, 200
# What a file in it counts besides its bytes.
_FILE = 1 << 12
SLOW = 1 << 27
"""What a file that takes too long counts."""

BROKEN_OFF = zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, LZMAError
"""What the libraries raise where a file in an archive is damaged."""
DAMAGED = (
    *BROKEN_OFF,
    IndexError,  # of an entry without a name
    OSError,
    NotImplementedError,
    ValueError,
    MemoryError,  # of a dictionary of gigabytes
)
"""What the libraries raise on a damaged archive."""

_LINK = "no file, but a link or a device"
_OF_MAC = "__MACOSX"
_BOOK = "META-INF/container.xml"
# The line before a message of a mailbox: it has a time and a year, or, in Thunderbird, nothing.
_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?From (?:.{0,300}?\d\d:\d\d.{0,60}?\d{4}|\s*\Z)")
_HEADER = re.compile(rb"[!-9;-~]+:")
_MARKED = re.compile(rb"^>(?=>*From )")
# The main part of an Office file has any name in its folder.
_IN_ZIP = {"word/": "docx", "ppt/": "pptx", "xl/": "xlsx", _BOOK: "epub"}
_OFFICE = "[Content_Types].xml"
# Of names in an archive that does not say that they are in UTF-8, if they look right so.
_OF_DOS = ("cp437", "cp850")
_IS_UTF8 = 0x800
_EXTENSION = re.compile(rb"\.\w+$", re.M)
_ELSEWHERE = {
    "META-INF/manifest.xml": "an OpenDocument file; save it as .docx, .xlsx or .pptx, for "
    "example by soffice --convert-to docx",
    "Index/Document.iwa": "an Apple iWork file; export it as .docx, .xlsx or .pptx",
}
"""Documents in other formats, by a file in them, and what to do with them."""


class Unpacked:
    """Counts what a file unpacks to, with the archives that are in it; there is a limit.

    Args:
        size: of the file; None if it is not known.
    """

    def __init__(self, size: int | None = None) -> None:
        usual = LONGEST_UNPACKED if size is None else max(_USUAL_UNPACKED, _TIMES * size)
        self._most = min(LONGEST_UNPACKED, usual)
        self._size = 0

    @property
    def is_too_much(self) -> bool:
        """Whether that is more than the limit."""
        return self._size > self._most

    def add(self, number: int) -> None:
        """Count bytes, and refuse more than the limit."""
        self._size += number
        if self.is_too_much:
            raise InputError(
                f"unpacks to more than {self._most >> 20:,} MiB, with {_FILE >> 10} KiB more for "
                f"each file, and {SLOW >> 20} MiB for each that takes too long; unpack it first"
            )

    def bounded(self, stream: IO[bytes]) -> IO[bytes]:
        """A file in it as a stream that counts, and ends with an error at the limit.

        Where it is damaged, it ends with an `OSError`, which no reader takes for its own.
        """
        self.add(_FILE)

        def read(most: int) -> bytes:
            try:
                found = stream.read(most)
            except BROKEN_OFF as error:
                raise OSError(error) from None
            self.add(len(found))
            return found

        return stream_of(read)


def read_gz(source: str, stream: BinaryIO, options: ReadOptions) -> PackedStream:
    """Yield the packed file, by the name without ``.gz``."""
    inner = source[:-3] if source.lower().endswith(".gz") else source
    inner = f"{source[:-4]}.tar" if source.lower().endswith(".tgz") else inner
    try:
        with gzip.open(stream) as unpacked:
            yield PackedFile(source, inner, stream_of(unpacked.read))
    except (InputError, *DAMAGED) as error:
        yield damaged(source, error)


def read_zip(source: str, stream: BinaryIO, options: ReadOptions) -> PackedStream:
    """Yield the files of an archive; or the archive as the Office file or book that it is."""
    try:
        with seekable(stream) as content, zipfile.ZipFile(content) as archive:
            names = archive.namelist()
            kind = _kind(names)
            if kind is not None:
                content.seek(0)
                yield PackedFile(source, source, content, kind)
                return
            if told := next((_ELSEWHERE[name] for name in names if name in _ELSEWHERE), None):
                raise InputError(told)
            inside = archive.infolist()
            entries = [
                (entry, path)
                for entry, path in zip(inside, _paths(inside), strict=True)
                if not entry.is_dir() and not _is_hidden(path)
            ]
            Unpacked().add(sum(entry.file_size for entry, _ in entries))
            for entry, path in entries:
                name = f"{source}/{path}"
                if stat.S_ISLNK(entry.external_attr >> 16):
                    yield skipped(name, _LINK, "link", source)
                    continue
                if entry.flag_bits & 1:
                    yield bad_record(name, None, ENCRYPTED, "")
                    continue
                try:
                    with archive.open(entry) as member:
                        yield PackedFile(name, name, member)
                except (InputError, *DAMAGED) as error:
                    yield damaged(name, error)
    except (InputError, *DAMAGED) as error:
        yield damaged(source, error)


def _paths(entries: list[zipfile.ZipInfo]) -> list[str]:
    """The names of files in an archive: in UTF-8, or else all in the encoding that they show."""
    raw = dict[int, bytes]()
    paths = [entry.filename for entry in entries]
    for number, entry in enumerate(entries):
        with suppress(UnicodeEncodeError):  # the library has read it from another field
            name = b"" if entry.flag_bits & _IS_UTF8 else entry.filename.encode(_OF_DOS[0])
            try:
                paths[number] = name.decode() or entry.filename
            except UnicodeDecodeError:
                raw[number] = name
    # Extensions are words of no language.
    shown = _EXTENSION.sub(b"", b"\n".join(raw.values()))[:SAMPLE]
    encoding = least_odd(shown, *_OF_DOS, guessed(shown, "cp1252", "cp852")) if raw else UTF8
    known = {number: name.decode(encoding, "backslashreplace") for number, name in raw.items()}
    return [known.get(number, path) for number, path in enumerate(paths)]


def _kind(names: list[str]) -> str | None:
    """The format of an archive by the names in it, if it is a document."""
    known = [begin for begin in _IN_ZIP if begin.endswith(".xml") or _OFFICE in names]
    return next(
        (_IN_ZIP[begin] for name in names for begin in known if name.startswith(begin)), None
    )


class _Entry(tarfile.TarInfo):
    """An entry of an archive whose end has to be marked; the library takes any other for one.

    One that tells a size beyond all bounds would be skipped by reading on for as long.
    """

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> _Entry:
        try:
            entry = super().fromtarfile(archive)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(f"cut off, or no archive ({error})") from None
        if entry.size > LONGEST_UNPACKED:
            raise tarfile.ReadError(f"{entry.name} tells {entry.size:,} bytes")
        return entry


def read_tar(source: str, stream: BinaryIO, options: ReadOptions) -> PackedStream:
    """Yield the files of an archive."""
    try:
        with tarfile.open(fileobj=stream, mode="r|", tarinfo=_Entry) as archive:
            for entry in archive:
                # The library keeps all of them.
                archive.members.clear()  # type: ignore[attr-defined]
                if _is_hidden(entry.name):
                    continue
                name = f"{source}/{decoded(entry.name.encode(UTF8, 'surrogateescape'))}"
                member = archive.extractfile(entry) if entry.isreg() else None
                if member is not None:
                    yield PackedFile(name, name, member)
                elif not entry.isdir():
                    yield skipped(name, _LINK, "link", source)
    except (InputError, *DAMAGED) as error:
        yield damaged(source, error)


def read_mbox(source: str, stream: BinaryIO, options: ReadOptions) -> PackedStream:
    """Yield the messages of a mailbox, which are numbered from 1."""
    number = 0
    for number, raw in enumerate(_messages(stream), 1):
        name = f"{number}.eml"
        yield PackedFile(f"{source}/{name}", name, io.BytesIO(raw), "eml")
    if not number:
        yield bad_record(source, None, "not a mailbox: no line begins a message, as From does", "")


def _messages(stream: BinaryIO) -> Iterator[bytes]:
    """Messages, each behind a line that begins with ``From``, without the marks of such lines.

    Words before the first such line are a message of their own; without any there is none.
    """
    message = bytearray()
    is_blank, has_begun = True, False
    lines = iter(lambda: stream.readline(LONGEST_FILE), b"")
    for line, following in pairwise(chain(lines, [b""])):
        # Mailboxes that were put together may have no blank line between them.
        if _BEGINS.match(line) and (is_blank or _HEADER.match(following)):
            yield from [bytes(message)] if has_begun or message.strip() else ()
            message, has_begun = bytearray(), True
        # What is longer than a file may be is refused by its reader.
        elif len(message) <= LONGEST_FILE:
            message += _MARKED.sub(b"", line)
        is_blank = not line.strip()
    yield from [bytes(message)] if has_begun else ()


def _is_hidden(path: str) -> bool:
    """Whether a file is hidden, as those in folders are, or what a Mac notes about another one."""
    parts = {*path.split("/")} - {".", ".."}
    return _OF_MAC in parts or any(map(is_hidden, parts))


def damaged(name: str, error: Exception) -> BadRecord:
    """The bad record of an archive, or of a file in it, that cannot be read to its end."""
    why = str(error) if isinstance(error, InputError) else f"a damaged archive: {error}"
    why = NO_MEMORY if isinstance(error, MemoryError) else why
    return bad_record(name, None, why, "")


@contextmanager
def seekable(stream: BinaryIO) -> Iterator[IO[bytes]]:
    """A seekable stream: the one given, or a copy in a temporary file."""
    if stream.seekable():
        yield stream
        return
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(Unpacked().bounded(stream), copy)
        copy.seek(0)
        yield copy


@contextmanager
def named(stream: IO[bytes]) -> Iterator[Path]:
    """A file with the content of a stream: its own, or a copy while this lasts."""
    if (own := _path_of(stream)) is not None:
        yield own
        return
    with tempfile.NamedTemporaryFile(prefix="slice-os-") as copy:
        shutil.copyfileobj(Unpacked().bounded(stream), copy)
        copy.flush()
        yield Path(copy.name)


def _path_of(stream: IO[bytes]) -> Path | None:
    """The file that is open; a packed one has a name, too, which may be that of another file."""
    with suppress(OSError, AttributeError, TypeError, ValueError):
        path = Path(stream.name)
        if os.path.samestat(path.stat(), os.fstat(stream.fileno())):
            return path
    return None
