"""Highlights at hits in a copy of a PDF file."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from slice_os.errors import imported
from slice_os.originals.finding import Original
from slice_os.originals.marks import AUTHOR, Mark
from slice_os.originals.pdf_pages import Box, boxes_on_page, opened
from slice_os.text.documents import Document
from slice_os.text.pdf import page_text


def write_highlights(
    original: Original, document: Document, marks: Sequence[Mark], path: Path
) -> int:
    """Write a copy with a highlight at each mark, with its note; returns how many have a place.

    The copy begins with the bytes of the original, so that signatures of those stay valid.
    A mark over the end of a page has a highlight on either page.
    """
    raw = imported("pypdfium2.raw", "this format", "documents")
    placed = set()
    with opened(original) as file:
        for segment in document.segments:
            here = [one for one in enumerate(marks) if one[1].overlaps(segment)]
            if not here:
                continue
            page = file[int(segment.fields["page"]) - 1]
            _, indices = page_text(page)
            extents = (mark.extent for _, mark in here)
            all_boxes = boxes_on_page(page, indices, segment.start, extents)
            for (number, mark), boxes in zip(here, all_boxes, strict=True):
                if boxes:
                    _highlight(raw, page, boxes, mark)
                    placed.add(number)
            page.close()
        file.save(path, flags=raw.FPDF_INCREMENTAL)
    return len(placed)


def _highlight(raw: Any, page: Any, boxes: Sequence[Box], mark: Mark) -> None:
    annotation = raw.FPDFPage_CreateAnnot(page, raw.FPDF_ANNOT_HIGHLIGHT)
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    around = raw.FS_RECTF(min(lefts), max(tops), max(rights), min(bottoms))
    raw.FPDFAnnot_SetRect(annotation, around)
    raw.FPDFAnnot_SetColor(annotation, raw.FPDFANNOT_COLORTYPE_Color, *mark.colour, 255)
    for left, top, right, bottom in boxes:
        corners = (left, top), (right, top), (left, bottom), (right, bottom)
        points = raw.FS_QUADPOINTSF(*(value for corner in corners for value in corner))
        raw.FPDFAnnot_AppendAttachmentPoints(annotation, points)
    for key, value in (("Contents", mark.note), ("T", AUTHOR)):
        text = (value + "\0").encode("utf-16-le")
        wide = (ctypes.c_ushort * (len(text) // 2)).from_buffer_copy(text)
        raw.FPDFAnnot_SetStringValue(annotation, key.encode(), wide)
    # Shown on screen, and printed.
    raw.FPDFAnnot_SetFlags(annotation, raw.FPDF_ANNOT_FLAG_PRINT)
    raw.FPDFPage_CloseAnnot(annotation)
