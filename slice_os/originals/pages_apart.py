"""The pages of PDF files, drawn in a process of their own, with little time and memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from slice_os.errors import InputError, imported
from slice_os.ingest.apart import POSSIBLE, run_apart
from slice_os.originals.finding import Original
from slice_os.originals.pdf_pages import PageView, opened, view_page
from slice_os.records import record
from slice_os.text.documents import Extent

SECONDS, MEMORY = 20, 1 << 30
"""Processor time and bytes of address space for a page."""

_DRAW = "slice_os.originals.pages_apart:draw_here"


def view_apart(
    original: Original, number: int, text: str, spans: Sequence[Extent], width: int
) -> tuple[PageView, int]:
    """A page of a PDF file, see `view_page`, and how many it has.

    There are checkpoints while it is drawn.

    Raises:
        InputError: as `view_page` and `Original.content`, or if it takes too much time or memory.
        MissingExtraError: without the libraries.
    """
    imported("pypdfium2", "this format", "documents")
    imported("PIL", "A picture of a page", "documents")
    request = {
        "original": {**asdict(original), "path": str(original.path)},
        "number": number,
        "text": text,
        "spans": list(map(asdict, spans)),
        "width": width,
    }
    if POSSIBLE:
        try:
            ((told, picture),) = run_apart(_DRAW, request, b"", SECONDS, MEMORY)
        except InputError as error:
            raise InputError(f"page {number}: {error}; open the file itself") from None
    else:
        ((told, picture),) = draw_here(request, b"")
    if "error" in told:
        raise InputError(told["error"])
    return record(PageView, {**told["view"], "picture": picture}), told["pages"]


def draw_here(request: dict[str, Any], content: bytes) -> Iterator[tuple[dict[str, Any], bytes]]:
    """A page, drawn in this process from the file at its path; or why it cannot be drawn."""
    del content
    known = request["original"]
    original = Original(**{**known, "path": Path(known["path"])})
    spans = [Extent(**one) for one in request["spans"]]
    asked = request["number"], request["text"], spans, request["width"]
    try:
        with opened(original) as file:
            view = view_page(file, *asked, lambda: original.read().segments)
            yield {"view": {**asdict(view), "picture": None}, "pages": len(file)}, view.picture
    except InputError as error:
        yield {"error": str(error)}, b""
