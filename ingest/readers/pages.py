"""PDF files; offsets count the extracted text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from slice_os.ingest.readers.reader import (
    DocumentStream,
    ReadOptions,
    Turn,
    extracted,
    with_note,
)
from slice_os.text.pdf import has_image, open_pdf, page_text


def read_pdf(source: str, stream: BinaryIO, options: ReadOptions) -> DocumentStream:
    """Yield one document of a file's pages, with the number of each."""
    images: Counter[str] = Counter()
    total = 0

    def pages(content: BinaryIO) -> Iterator[Turn]:
        nonlocal total
        with open_pdf(content.read()) as document:
            for total, page in enumerate(document, 1):
                text, _ = page_text(page)
                if not text.strip() and has_image(page):
                    images["pages that are images"] += 1
                yield Turn(text, fields={"page": total})
                page.close()

    def words(counts: Mapping[str, int]) -> str:
        if sum(counts.values()) == total:
            return "if it is a scan, recognise its text first"
        return f"{sum(counts.values())} of {total} pages are images; recognise their text first"

    return with_note(source, extracted(source, stream, pages), images, words)
