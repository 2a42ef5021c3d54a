"""Pictures of the pages that have hits, for reports."""

from __future__ import annotations

import base64
from collections.abc import Generator, Sequence
from contextlib import closing

from slice_os.errors import SliceError
from slice_os.hits.report.pages import DrawPages, Page, Pages, Place
from slice_os.originals.finding import PDF, FindOriginal, NoPagesError, Original
from slice_os.originals.pdf_pages import opened, view_page
from slice_os.text.documents import Extent, Segment

MOST_PAGES = 50
"""Pages that a report shows."""

_WIDTH = 800


def page_drawer(find: FindOriginal) -> DrawPages:
    """Draws the pages of the places of hits, document by document, up to `MOST_PAGES`."""

    def draw(places: Sequence[Place]) -> Pages:
        by_document: dict[str, list[Place]] = {}
        for place in places:
            by_document.setdefault(place.doc_id, []).append(place)
        pages: list[Page] = []
        told: list[str] = []
        for doc_id, own in by_document.items():
            try:
                original = find(doc_id)
                if original.format != PDF:
                    continue
                with closing(_drawn(original, own)) as drawn:
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


def _drawn(original: Original, places: Sequence[Place]) -> Generator[Page, None, None]:
    """The pages of a document that have some of the places."""
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
            view = view_page(file, number, document.text, spans, _WIDTH, segments)
            image = f"data:image/webp;base64,{base64.b64encode(view.picture).decode()}"
            name = f"{places[0].doc_id}, page {number}"
            marks = tuple(zip(here, view.boxes, strict=True))
            yield Page(name, view.width, view.height, image, marks)
