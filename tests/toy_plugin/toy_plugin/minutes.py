"""Minutes of meetings: a meeting a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from slice_os import Document, InputError
from slice_os.ingest.formats import Reader
from slice_os.ingest.readers import BadRecord, ReadOptions
from slice_os.ingest.readers.reader import bad_record

READER = Reader("toy_plugin.minutes:read_minutes", (".min",), "minutes, a meeting per line")


def read_minutes(
    source: str, stream: BinaryIO, options: ReadOptions
) -> Iterator[Document | BadRecord]:
    """Yield a document for each meeting of a file."""
    for number, line in enumerate(stream, 1):
        try:
            yield Document(f"{source}#{number}", line.decode("utf-8").strip())
        except (InputError, UnicodeDecodeError) as error:
            yield bad_record(source, number, str(error), line)
