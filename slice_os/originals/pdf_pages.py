"""The pages of PDF files as pictures with boxes around hits, for the page and for reports."""

from __future__ import annotations

import base64
import ctypes
import io
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from time import monotonic
from typing import Any

from slice_os.errors import InputError, SliceError, imported
from slice_os.hits.report.pages import DrawPages, Location, Page, Pages
from slice_os.originals.finding import PDF, FindOriginal, NoPagesError, Original
from slice_os.text.documents import Extent, Segment
from slice_os.text.pdf import PDFIUM, open_pdf, page_text
from slice_os.text.pdf_annotations import Box, annotation_box

_MOST_PIXELS = 6_000_000
_MOST_SECONDS = 10.0
# A page of text is smaller and sharper without loss; one of photographs is not.
_LOSSLESS = {"lossless": True, "method": 2}
_LOSSY = {"quality": 50, "method": 2}
_LARGE = 250_000

MOST_PAGES = 50
"""Pages that a report shows."""

_REPORT_WIDTH = 800


@dataclass(frozen=True, slots=True)
class PageView:
    """A page as a picture in WebP, its width and height in pixels, and its number from 1.

    The extent is that of its text in the document; None if it has none. Each span has the boxes
    around its words, one or more a line; none if it is elsewhere.
    """

    number: int
    extent: Extent | None
    width: int
    height: int
    picture: bytes
    boxes: tuple[tuple[Box, ...], ...]


@contextmanager
def opened(original: Original) -> Iterator[Any]:
    """The ``pypdfium2.PdfDocument`` of an original; no other thread has PDFium meanwhile.

    Raises an `InputError` if the file is gone, changed or damaged.
    """
    # Of many threads, one holds such a file in memory at a time.
    with PDFIUM, open_pdf(original.content()) as document:
        yield document


def view_page(
    document: Any,
    number: int,
    text: str,
    spans: Sequence[Extent],
    width: int,
    segments: Callable[[], Iterable[Segment]],
) -> PageView:
    """Draw a page of an opened PDF, so many pixels wide; very long pages become narrower.

    The text is that of the whole document, the spans are code points of it. The extents of the
    pages with text are asked for if the page alone does not tell its own.

    Raises an `InputError` if there is no such page, it has another text now, or takes too long to
    draw.
    """
    if not 1 <= number <= len(document):
        raise InputError(f"no page {number}; there are {len(document)}")
    page = document[number - 1]
    try:
        own, indices, _ = page_text(page)
        extent = _extent(number, own, text, segments) if own.strip() else None
        placed = boxes_on_page(page, indices, extent.start if extent else len(text), spans)
        wide, high = page.get_size()
        scale = min(width / wide, (_MOST_PIXELS / (wide * high)) ** 0.5)
        size = max(1, round(wide * scale)), max(1, round(high * scale))
        boxes = tuple(tuple(_in_pixels(page, size, box) for box in own) for own in placed)
        return PageView(number, extent, *size, _drawn(page, *size), boxes)
    finally:
        page.close()


def _extent(number: int, own: str, text: str, segments: Callable[[], Iterable[Segment]]) -> Extent:
    """The place of a page's text in the document; all pages are read, to tell identical ones apart.

    Raises an `InputError` if it is not there.
    """
    start = text.find(own)
    if start >= 0 and text.find(own, start + 1) >= 0:
        start = next((one.start for one in segments() if one.fields["page"] == number), -1)
    if start < 0 or not text.startswith(own, start):
        raise InputError(f"page {number} reads differently now; ingest it again")
    return Extent(start, start + len(own))


def boxes_on_page(
    page: Any, indices: Sequence[int], start: int, spans: Iterable[Extent]
) -> list[list[Box]]:
    """The boxes around the words of each span, as far as it is on a page, in units of the page.

    For the indices of its code points see `page_text`; the text of the page begins at ``start`` of
    the document, and spans are code points of that.
    """
    raw = imported("pypdfium2.raw", "this format", "documents")
    words = page.get_textpage()
    found: list[list[Box]] = []
    for span in spans:
        within = indices[max(0, span.start - start) : max(0, span.end - start)]
        printed = [index for index in within if index >= 0]
        boxes: list[Box] = []
        # PDFium has turned lines in its own order.
        cuts = [at for at in range(1, len(printed)) if printed[at] < printed[at - 1]]
        for first, end in pairwise([0, *cuts, len(printed)] if printed else ()):
            count = raw.FPDFText_CountRects(
                words, printed[first], printed[end - 1] - printed[first] + 1
            )
            for left, bottom, right, top in map(words.get_rect, range(count)):
                boxes.append((left, top, right, bottom))
        lines = _lines(boxes)
        over = dict.fromkeys(-1 - index for index in within if index < 0)
        found.append([*lines, *(annotation_box(page, number) for number in over)])
    words.close()
    return found


def _lines(boxes: Iterable[Box]) -> list[Box]:
    """Boxes side by side as one: justified text has a box for each word."""
    lines: list[Box] = []
    for left, top, right, bottom in boxes:
        if lines:
            before = lines[-1]
            height = min(top - bottom, before[1] - before[3])
            overlap = min(top, before[1]) - max(bottom, before[3])
            gap = max(left, before[0]) - min(right, before[2])
            if overlap > height / 2 and gap < 2 * height:
                least = min(left, before[0]), max(top, before[1])
                lines[-1] = (*least, max(right, before[2]), min(bottom, before[3]))
                continue
        lines.append((left, top, right, bottom))
    return lines


def _in_pixels(page: Any, size: tuple[int, int], box: Box) -> Box:
    """A box of a page on its picture, whatever the rotation of the page."""
    raw = imported("pypdfium2.raw", "this format", "documents")
    x, y = ctypes.c_int(), ctypes.c_int()
    corners = []
    for corner in (box[:2], box[2:]):
        raw.FPDF_PageToDevice(page, 0, 0, *size, 0, *corner, x, y)
        corners.append((x.value, y.value))
    (left, right), (top, bottom) = map(sorted, zip(*corners, strict=True))
    return left, top, right, bottom


def _drawn(page: Any, width: int, height: int) -> bytes:
    """The picture of a page, as WebP."""
    pdfium = imported("pypdfium2", "this format", "documents")
    imported("PIL", "A picture of a page", "documents")
    raw = pdfium.raw
    end = monotonic() + _MOST_SECONDS
    bitmap = pdfium.PdfBitmap.new_native(width, height, raw.FPDFBitmap_BGR)
    try:
        bitmap.fill_rect((255, 255, 255, 255), 0, 0, width, height)
        pause = raw.IFSDK_PAUSE(version=1)
        pdfium.internal.set_callback(pause, "NeedToPauseNow", lambda _: monotonic() > end)
        where = bitmap, page, 0, 0, width, height, 0, raw.FPDF_ANNOT
        status = raw.FPDF_RenderPageBitmap_Start(*where, pause)
        raw.FPDF_RenderPage_Close(page)
        if status != raw.FPDF_RENDER_DONE:
            raise InputError("a page takes too long to draw; open the file itself")
        if page.formenv:
            raw.FPDF_FFLDraw(page.formenv, *where)
        image = bitmap.to_pil()
        exact = _webp(image, _LOSSLESS)
        return exact if len(exact) < _LARGE else min(exact, _webp(image, _LOSSY), key=len)
    finally:
        bitmap.close()


def _webp(image: Any, how: Mapping[str, Any]) -> bytes:
    out = io.BytesIO()
    image.save(out, "WEBP", **how)
    return out.getvalue()


def page_drawer(find: FindOriginal) -> DrawPages:
    """Draws the pages of the places of hits, document by document, up to `MOST_PAGES`."""

    def draw(places: Sequence[Location]) -> Pages:
        by_document: dict[str, list[Location]] = {}
        for place in places:
            by_document.setdefault(place.doc_id, []).append(place)
        pages: list[Page] = []
        told: list[str] = []
        for doc_id, own in by_document.items():
            try:
                original = find(doc_id)
                if original.format != PDF:
                    continue
                with closing(_pages_with(original, own)) as drawn:
                    for page in drawn:
                        if len(pages) == MOST_PAGES:
                            told.append(f"Of all pages with hits, {MOST_PAGES} are shown.")
                            return Pages(tuple(pages), tuple(told))
                        pages.append(page)
            except NoPagesError:
                continue
            except SliceError as error:
                told.append(str(error))
        return Pages(tuple(pages), tuple(told))

    return draw


def _pages_with(original: Original, places: Sequence[Location]) -> Generator[Page, None, None]:
    document = original.read((one.start, one.end, one.text) for one in places)

    def segments() -> tuple[Segment, ...]:
        return document.segments

    with opened(original) as file:
        for segment in document.segments:
            here = [one for one in places if one.start < segment.end and segment.start < one.end]
            if not here:
                continue
            spans = [Extent(one.start, one.end) for one in here]
            number = int(segment.fields["page"])
            view = view_page(file, number, document.text, spans, _REPORT_WIDTH, segments)
            image = f"data:image/webp;base64,{base64.b64encode(view.picture).decode()}"
            name = f"{places[0].doc_id}, page {number}"
            marks = tuple(zip(here, view.boxes, strict=True))
            yield Page(name, view.width, view.height, image, marks)
