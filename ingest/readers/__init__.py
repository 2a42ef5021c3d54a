"""From a source to its documents, one at a time, with a report for every record that is broken."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import BinaryIO

from slice_os.documents import Document
from slice_os.ingest.readers._base import BadRecord, ReadOptions
from slice_os.ingest.readers._csv import read_csv
from slice_os.ingest.readers._jsonl import read_jsonl
from slice_os.ingest.readers._subtitles import read_subtitles
from slice_os.ingest.readers._text import read_text
from slice_os.ingest.sources import Format, Source

__all__ = ["BadRecord", "ReadOptions", "read"]


def read(source: Source, options: ReadOptions) -> Iterator[Document | BadRecord]:
    """Read the documents of a source.

    Records of JSON lines and CSV stream; a text or subtitle file is one document. Nothing is
    raised for bad input: what cannot be used comes as a `BadRecord` in its place, the rest of
    the source goes on.

    Args:
        source: what to read.
        options: the fields of records that are id, text and metadata.
    """
    try:
        with _open(source) as stream:
            yield from _read(source, stream, options)
    except OSError as error:
        yield BadRecord(source.name, None, f"cannot be read: {error.strerror or error}", "")


def _open(source: Source) -> contextlib.AbstractContextManager[BinaryIO]:
    if source.path is None:
        return contextlib.nullcontext(sys.stdin.buffer)
    return source.path.open("rb")


def _read(source: Source, stream: BinaryIO, options: ReadOptions) -> Iterator[Document | BadRecord]:
    name = source.name
    if source.format is Format.JSONL:
        return read_jsonl(name, stream, options)
    if source.format is Format.CSV:
        return read_csv(name, stream, options, delimiter=",")
    if source.format is Format.TSV:
        return read_csv(name, stream, options, delimiter="\t")
    if source.format is Format.TEXT:
        return read_text(name, stream)
    return read_subtitles(name, stream, webvtt=source.format is Format.VTT)
