"""PDF files; offsets count the text of their pages, with what fields and notes on them show."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import starmap
from typing import BinaryIO

from slice_os.ingest.readers.letters import named_apart
from slice_os.ingest.readers.mime import Attachment
from slice_os.ingest.readers.reader import (
    FileStream,
    PackedFile,
    ReadOptions,
    Turn,
    counted,
    extracted,
    needs,
)
from slice_os.text.pdf import DOUBTFUL, UNREAD, has_image, is_dynamic_form, open_pdf, page_text
from slice_os.text.pdf_annotations import attached_files, files_on_page

_EMBEDDED = re.compile(rb"/Type\s*/EmbeddedFile\b")
_IMAGES = "pages that are images"
_TOLD = {
    _IMAGES: "are images; recognise their text first",
    UNREAD: "have words that cannot be read, since their fonts do not say which letters they show",
    DOUBTFUL: "may show other words than their fonts say",
}


def read_pdf(source: str, stream: BinaryIO, options: ReadOptions) -> FileStream:
    """Yield one document of a file's pages, with the number of each, then the files in it."""
    counts: Counter[str] = Counter()
    attached: list[Attachment] = []
    total = 0

    def pages(content: BinaryIO) -> Iterator[Turn]:
        nonlocal total
        raw, damaged = content.read(), needs("pypdfium2").PdfiumError
        with open_pdf(raw) as document:
            if is_dynamic_form(document):
                counts["forms that only Adobe Reader shows left out"] += 1
            attached.extend(starmap(Attachment, attached_files(document)))
            for total in range(1, len(document) + 1):
                try:
                    page = document[total - 1]
                    text, _, left_out = page_text(page)
                except damaged:
                    counts["damaged pages left out"] += 1
                    continue
                counts.update(left_out)
                if not text.strip() and UNREAD not in left_out and has_image(page):
                    counts[_IMAGES] += 1
                yield Turn(text, fields={"page": total})
                attached.extend(starmap(Attachment, files_on_page(document, page)))
                page.close()
        # PDFium knows no files that a catalog or a picture is only associated with; nor does it say
        # which files a later version of the document has taken out.
        others = len(_EMBEDDED.findall(raw)) - len({one.content for one in attached})
        if others > 0:
            counts["associated or deleted files perhaps left out"] += others

    def words(counts: Mapping[str, int]) -> str:
        if counts == {_IMAGES: total}:
            return "if it is a scan, recognise its text first"
        told = [
            f"{counts[kind]} of {total} pages {_TOLD[kind]}" for kind in _TOLD if kind in counts
        ]
        others = {kind: times for kind, times in counts.items() if kind not in _TOLD}
        return "; ".join([*told, *([counted(others)] if others else [])])

    yield from extracted(source, stream, pages, counts, empty=lambda: not attached, words=words)
    for name, content, *_ in named_apart(attached):
        yield PackedFile(f"{source}/{name}", name, io.BytesIO(content))
