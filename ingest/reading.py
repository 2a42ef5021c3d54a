"""Reads the documents of a source one at a time and reports every record that it cannot use."""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO

from slice_os.ingest.packed import read_stream
from slice_os.ingest.readers import BadRecord, ReadOptions, SkippedFile
from slice_os.ingest.sources import Source
from slice_os.text.documents import Document

# Begins the ids that a reader makes, to tell them from those that records have.
_MADE = "\0"


def read(source: Source, options: ReadOptions) -> Iterator[Document | BadRecord]:
    """Read the documents of a source.

    JSON lines and tables stream; a text or subtitle file is one document. Bad input raises
    nothing: a record that cannot be used comes as a `BadRecord` in its place, and reading
    continues with the next.

    Args:
        source: what to read.
        options: which fields of a record are its id, text and metadata.

    Raises:
        InputError: if no reader has the source's format.
    """
    for record in _records(source, source.ids, options):
        yield record if isinstance(record, BadRecord) else _prefixed(record, source)


def read_additions(source: Source, options: ReadOptions) -> Iterator[Document | BadRecord]:
    """As `read`, with ids that nothing which is added later has.

    A record without an id gets one made of its content, so that a record added twice is stored
    once.
    """
    copies: Counter[str] = Counter()
    for record in _records(source, _MADE, options):
        if isinstance(record, BadRecord):
            yield record
        elif record.id.startswith(_MADE):
            content = f"{source.name}#{record.fingerprint[:16]}"
            copies[content] += 1
            number = f"-{copies[content]}" if copies[content] > 1 else ""
            yield _prefixed(replace(record, id=f"{content}{number}"), source)
        else:
            yield _prefixed(record, source)


def _records(source: Source, ids: str, options: ReadOptions) -> Iterator[Document | BadRecord]:
    """What the reader makes of a source that it knows by the beginning of its documents' ids."""
    try:
        with _open(source) as stream:
            for record in read_stream(ids, source.format, stream, options):
                if isinstance(record, SkippedFile):
                    archive = f"{source.name}{record.archive.removeprefix(ids)}"
                    yield replace(record, archive=archive)
                elif isinstance(record, BadRecord):
                    within = record.source.removeprefix(ids)
                    yield replace(record, source=f"{source.name}{within}")
                else:
                    yield record
    except OSError as error:
        yield BadRecord(source.name, None, f"cannot be read: {error.strerror or error}", "")


def _prefixed(document: Document, source: Source) -> Document:
    doc_id = f"{source.id_prefix}{document.id}"
    if (document.id, document.source) == (doc_id, source.name):
        return document
    return replace(document, id=doc_id, source=source.name)


def _open(source: Source) -> contextlib.AbstractContextManager[BinaryIO]:
    if source.path is None:
        return contextlib.nullcontext(sys.stdin.buffer)
    return source.path.open("rb")
