"""Reads a file by what it is, whatever its name says, and the files that are packed in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePosixPath
from typing import IO

from slice_os.errors import InputError
from slice_os.ingest.formats import READERS, format_by, reader_named
from slice_os.ingest.readers import BadRecord, PackedFile, ReadOptions, SkippedFile
from slice_os.ingest.readers.archives import DAMAGED, damaged
from slice_os.ingest.readers.decoding import peek
from slice_os.text.documents import Document

_MOST_DEEP = 3
_LONGEST_MAGIC = 16


def read_stream(
    source: str, format_name: str, stream: IO[bytes], options: ReadOptions
) -> Iterator[Document | BadRecord]:
    """The documents of a file and of those packed in it.

    Args:
        source: name of the source.
        format_name: the format of the file, unless its first bytes tell another.
        stream: the file.
        options: which fields are read.

    Raises:
        InputError: if no reader has the format.
    """
    head, whole = _head(stream)
    known = _format(format_name, head)
    # What is packed by itself, such as standard input, may be named by what it unpacks to.
    unpacked = format_name if known != format_name else None
    for found in _read(source, known, whole, options, unpacked):
        if isinstance(found, Document):
            yield replace(found, source=source, language=options.language)
        else:
            yield found


def _read(
    source: str,
    format_name: str,
    stream: IO[bytes],
    options: ReadOptions,
    unpacked: str | None = None,
    depth: int = 0,
) -> Iterator[Document | BadRecord]:
    for found in reader_named(format_name).load()(source, stream, options):
        if not isinstance(found, PackedFile):
            yield found
            continue
        try:
            alone = unpacked if found.source == source else None
            yield from _read_packed(found, source, options, alone, depth + 1)
        except (InputError, *DAMAGED) as error:
            yield damaged(found.source, error)


def _read_packed(
    found: PackedFile, archive: str, options: ReadOptions, unpacked: str | None, depth: int
) -> Iterator[Document | BadRecord]:
    if depth > _MOST_DEEP:
        raise InputError("an archive within an archive within another; unpack it first")
    head, whole = _head(found.stream)
    known = found.format or format_by(found.path, head) or unpacked
    if known is None:
        extension = PurePosixPath(found.path).suffix.lower()
        yield SkippedFile(found.source, None, "no reader has such files", "", extension, archive)
        return
    yield from _read(found.source, known, whole, options, unpacked, depth)


def _head(stream: IO[bytes]) -> tuple[bytes, IO[bytes]]:
    """The first bytes of a stream, and a stream that still has them."""
    if not stream.seekable():
        return peek(stream, _LONGEST_MAGIC)
    head = stream.read(_LONGEST_MAGIC)
    stream.seek(0)
    return head, stream


def _format(named: str, head: bytes) -> str:
    """The format as named, unless its reader expects other first bytes and another those."""
    own = reader_named(named)
    if own.magic and head.startswith(own.magic):
        return named
    return next(
        (name for name, one in READERS.items() if one.magic and head.startswith(one.magic)), named
    )
