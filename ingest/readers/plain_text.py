"""Plain text and Markdown: the file is the document."""

from __future__ import annotations

from typing import BinaryIO

from slice_os.ingest.readers.decoding import note, read_text_file
from slice_os.ingest.readers.reader import BadRecord, DocumentStream, ReadOptions
from slice_os.ingest.readers.speakers import speaker_segments
from slice_os.text.documents import Document


def read_text(source: str, stream: BinaryIO, options: ReadOptions) -> DocumentStream:
    """Yield one document with the file's exact text, byte order mark and line ends included.

    Lines that begin with the names of speakers are turns.
    """
    decoded = read_text_file(source, stream, options.encoding)
    if isinstance(decoded, BadRecord):
        yield decoded
        return
    text, encoding = decoded
    yield Document(source, text, note(encoding), speaker_segments(text), source)
