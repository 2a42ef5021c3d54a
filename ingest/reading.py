"""Reads the documents of a source one at a time and reports every record that it cannot use."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import BinaryIO

from slice_os.documents import Document
from slice_os.ingest.packed import read_stream
from slice_os.ingest.readers import BadRecord, ReadOptions
from slice_os.ingest.sources import Source


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
    try:
        with _open(source) as stream:
            yield from read_stream(source.name, source.format, stream, options)
    except OSError as error:
        yield BadRecord(source.name, None, f"cannot be read: {error.strerror or error}", "")


def _open(source: Source) -> contextlib.AbstractContextManager[BinaryIO]:
    if source.path is None:
        return contextlib.nullcontext(sys.stdin.buffer)
    return source.path.open("rb")
