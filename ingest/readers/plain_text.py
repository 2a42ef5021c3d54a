"""Plain text and Markdown: the file is the document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from slice_os.documents import Document
from slice_os.ingest.readers.base import BadRecord, ReadOptions, decode_file


def read_text(
    source: str, stream: BinaryIO, options: ReadOptions
) -> Iterator[Document | BadRecord]:
    """One document with the file's exact text, byte order mark and line ends included."""
    del options  # a text has no fields
    text = decode_file(source, stream.read())
    yield text if isinstance(text, BadRecord) else Document(source, text, source=source)
