"""Pages of PDF files: their text, and which character of the page each code point is.

PDFium knows one thread at a time, in all files together, so hold `PDFIUM` while you use it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from typing import Any

from slice_os.errors import ENCRYPTED, InputError, imported

PDFIUM = RLock()

_HYPHEN, _CARRIAGE_RETURN = 2, 13


@contextmanager
def open_pdf(content: bytes) -> Iterator[Any]:
    """The ``pypdfium2.PdfDocument`` of a file's bytes; no other thread has PDFium meanwhile.

    Raises:
        MissingExtraError: without the library.
        InputError: if the file needs a password.
        PdfiumError: if it is damaged.
    """
    pdfium = imported("pypdfium2", "this format", "documents")
    with PDFIUM:
        try:
            document = pdfium.PdfDocument(content)
        except pdfium.PdfiumError as error:
            if error.err_code == pdfium.raw.FPDF_ERR_PASSWORD:
                raise InputError(ENCRYPTED) from None
            raise
        with document:
            yield document


def page_text(page: Any) -> tuple[str, list[int]]:
    """The text of a page, and for each of its code points the index of PDFium's character.

    A line ends in a newline. What PDFium gives as one character for a hyphen at the end of a line
    is a hyphen and a newline here, of the same index.

    The index is that of ``page.get_textpage().get_charbox(index)``. The ``page`` segments of a
    document hold these texts: the code point ``at`` of a document is code point
    ``at - segment.start`` of its page.
    """
    raw = imported("pypdfium2.raw", "this format", "documents")
    text_page = page.get_textpage()
    texts: list[str] = []
    indices: list[int] = []
    for index in range(text_page.count_chars()):
        code = raw.FPDFText_GetUnicode(text_page, index)
        if code in (0, _CARRIAGE_RETURN):
            continue
        # A damaged file has lone surrogates.
        text = "-\n" if code == _HYPHEN else "?" if 0xD800 <= code < 0xE000 else chr(code)
        texts.append(text)
        indices += [index] * len(text)
    text_page.close()
    return "".join(texts), indices


def has_image(page: Any) -> bool:
    """Whether a page shows a picture, as a scan does."""
    raw = imported("pypdfium2.raw", "this format", "documents")
    return any(page.get_objects(filter=[raw.FPDF_PAGEOBJ_IMAGE]))
