"""PDF files; offsets count the extracted text."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import BinaryIO

from slice_os.errors import InputError
from slice_os.ingest.readers.extracted import ENCRYPTED, extracted, needs
from slice_os.ingest.readers.reader import BadRecord, ReadOptions, Turn
from slice_os.text.documents import Document


def read_pdf(source: str, stream: BinaryIO, options: ReadOptions) -> Iterator[Document | BadRecord]:
    """One document of a file's pages, with the number of each."""
    del options  # a document has no fields
    return extracted(source, stream, _pages)


def _pages(content: BinaryIO) -> Iterator[Turn]:
    # It warns of every flaw that it repairs.
    logging.getLogger("pypdf").addHandler(logging.NullHandler())
    reader = needs("pypdf").PdfReader(content)
    # Many files are encrypted with an empty password, only to forbid changes.
    if reader.is_encrypted and not reader.decrypt(""):
        raise InputError(ENCRYPTED)
    for number, page in enumerate(reader.pages, 1):
        yield Turn(page.extract_text().replace("\0", ""), fields={"page": number})
