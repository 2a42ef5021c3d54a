"""Reads the documents of a source one at a time, and reports every record that it cannot use.

A file is read by its first bytes, whatever its name says, and so are the files that it packs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import IO

from slice_os.errors import InputError
from slice_os.ingest.apart import POSSIBLE, read_apart
from slice_os.ingest.formats import format_by, format_that_begins, reader_named
from slice_os.ingest.readers import BadRecord, PackedFile, ReadOptions
from slice_os.ingest.readers.archives import DAMAGED, SLOW, Unpacked, damaged
from slice_os.ingest.readers.decoding import peek, stream_of
from slice_os.ingest.readers.reader import (
    TOO_DEEP,
    TOO_LONG,
    DocumentStream,
    bad_record,
    extension_of,
    skipped,
)
from slice_os.ingest.readers.records import MADE, named_by_content
from slice_os.ingest.sources import Source
from slice_os.text.documents import Document

_MOST_DEEP = 3
# A message in a message is no archive: it takes no more room than it has.
_NOT_PACKED = ("eml", "msg")
_LONGEST_MAGIC = 16


def read(source: Source, options: ReadOptions) -> DocumentStream:
    """Read the documents of a source.

    JSON lines and tables stream; a text or subtitle file is one document. Bad input raises
    nothing: a record that cannot be used comes as a `BadRecord` in its place, and reading
    continues with the next.

    Raises an `InputError` if no reader has the source's format.
    """
    for record in _records(source, source.ids, options):
        yield record if isinstance(record, BadRecord) else _prefixed(record, source)


def read_additions(source: Source, options: ReadOptions) -> DocumentStream:
    """Read as `read` does, with ids that nothing which is added later has.

    A record without an id gets one made of its content, so that a record added twice is stored
    once.
    """
    for record in named_by_content(source.name, _records(source, MADE, options)):
        yield record if isinstance(record, BadRecord) else _prefixed(record, source)


def read_stream(
    source: str, format_name: str, stream: IO[bytes], options: ReadOptions
) -> DocumentStream:
    """Read the documents of a file and of those packed in it.

    The file has the format of that name, unless its first bytes tell another.

    Raises an `InputError` if no reader has the format.
    """
    own = reader_named(format_name).magic
    head, whole = _peeked(stream)
    is_own = own and head.startswith(own)
    known = format_name if is_own else format_that_begins(head) or format_name
    # What is packed by itself, such as standard input, may be named by what it unpacks to.
    named = format_name if known != format_name else None
    size = whole.seek(0, os.SEEK_END) if whole.seekable() else None
    if size is not None:
        whole.seek(0)
    for found in _read(source, known, whole, options, named, Unpacked(size), 0):
        if isinstance(found, Document):
            yield replace(found, source=source, language=options.language)
        else:
            yield found


def _records(source: Source, ids: str, options: ReadOptions) -> DocumentStream:
    """The records of a source, whose reader knows it by the beginning of its documents' ids."""
    try:
        with source.path.open("rb") if source.path else nullcontext(_given()) as stream:
            for record in read_stream(ids, source.format, stream, options):
                if isinstance(record, BadRecord):
                    within = record.source.removeprefix(ids)
                    yield replace(record, source=f"{source.name}{within}")
                else:
                    yield record
    except OSError as error:
        yield BadRecord(source.name, None, f"cannot be read: {error.strerror or error}", "")


def _given() -> IO[bytes]:
    """Standard input, without what another program has read of it, such as a first line."""
    stream = sys.stdin.buffer
    return stream_of(stream.read) if stream.seekable() and stream.tell() else stream


def _prefixed(document: Document, source: Source) -> Document:
    doc_id = f"{source.id_prefix}{document.id}"
    if (document.id, document.source) == (doc_id, source.name):
        return document
    return replace(document, id=doc_id, source=source.name)


def _read(
    source: str,
    format_name: str,
    stream: IO[bytes],
    options: ReadOptions,
    named: str | None,
    unpacked: Unpacked,
    depth: int,
) -> DocumentStream:
    """The documents of a file; a file without any record or file in it is skipped."""
    nothing = True
    deeper = depth + (format_name not in _NOT_PACKED)
    for found in _found(source, format_name, stream, options):
        nothing = False
        try:
            if not isinstance(found, PackedFile):
                yield found
                if isinstance(found, BadRecord) and found.reason.startswith(TOO_LONG):
                    unpacked.add(SLOW)
                continue
            if deeper > _MOST_DEEP:
                raise InputError("an archive within an archive within another; unpack it first")
            head, whole = _peeked(unpacked.bounded(found.stream))
            alone = named if found.source == source else None
            known = found.format or format_by(found.path, head) or found.otherwise or alone
            if known:
                yield from _read(found.source, known, whole, options, alone, unpacked, deeper)
            else:
                kind = extension_of(found.path)
                yield skipped(found.source, "no reader has such files", kind, source)
        except (InputError, *DAMAGED) as error:
            yield damaged(found.source, error)
        if unpacked.is_too_much:
            return
    if nothing:
        yield skipped(source, "nothing in it", f"{extension_of(source)} with nothing in it")


def _found(
    source: str, format_name: str, stream: IO[bytes], options: ReadOptions
) -> Iterator[Document | BadRecord | PackedFile]:
    """Yield what a reader finds; an error of its own becomes a bad record."""
    reader = reader_named(format_name)
    is_apart = reader.apart and POSSIBLE
    read = partial(read_apart, format_name) if is_apart else reader.load()
    try:
        yield from read(source, stream, options)
    except OSError:
        raise
    except RecursionError:
        yield bad_record(source, None, TOO_DEEP, "")
    except Exception as error:
        yield bad_record(source, None, f"the reader failed: {type(error).__name__}: {error}", "")


def _peeked(stream: IO[bytes]) -> tuple[bytes, IO[bytes]]:
    """The first bytes of a stream, and a stream that still has them."""
    if not stream.seekable():
        return peek(stream, _LONGEST_MAGIC)
    head = stream.read(_LONGEST_MAGIC)
    stream.seek(0)
    return head, stream
