"""Reads a file by what it is, whatever its name says, and the files that are packed in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import IO

from slice_os.documents import Document
from slice_os.ingest.formats import READERS, format_by, reader_named
from slice_os.ingest.readers import BadRecord, PackedFile, ReadOptions
from slice_os.ingest.readers.base import bad_record
from slice_os.ingest.readers.decoding import peek

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
    for found in _read(source, known, whole, options, depth=0):
        if isinstance(found, Document) and found.language != options.language:
            found = replace(found, language=options.language)
        yield found


def _read(
    source: str, format_name: str, stream: IO[bytes], options: ReadOptions, depth: int
) -> Iterator[Document | BadRecord]:
    for found in reader_named(format_name).load()(source, stream, options):
        if not isinstance(found, PackedFile):
            yield found
        elif depth == _MOST_DEEP:
            reason = "an archive within an archive within another; unpack it first"
            yield bad_record(found.source, None, reason, "")
        else:
            head, whole = _head(found.stream)
            known = found.format or format_by(found.path, head)
            if known is None:
                yield bad_record(found.source, None, "skipped: no reader has such files", "")
            else:
                yield from _read(found.source, known, whole, options, depth + 1)


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
