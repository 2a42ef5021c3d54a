"""Plain text and Markdown: the file is the document."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from slice_os.documents import Document
from slice_os.ingest.readers._base import BadRecord, decode_file


def read_text(source: str, stream: BinaryIO) -> Iterator[Document | BadRecord]:
    """One document whose text is the file's, byte order mark and line ends included."""
    text = decode_file(source, stream.read())
    yield text if isinstance(text, BadRecord) else Document(source, text, source=source)
