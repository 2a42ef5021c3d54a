"""PowerPoint, Excel and PDF files; offsets count the extracted text.

Old ``.doc``, ``.xls`` and ``.ppt`` files are of another format, which is refused by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from itertools import chain
from typing import Any, BinaryIO

from slice_os.errors import InputError
from slice_os.ingest.readers.reader import (
    DocumentStream,
    ReadOptions,
    Turn,
    extracted,
    needs,
    with_note,
)
from slice_os.ingest.readers.records import Record, documents_of
from slice_os.ingest.readers.tables import check_columns
from slice_os.text.pdf import has_image, open_pdf, page_text


def read_pptx(source: str, stream: BinaryIO, options: ReadOptions) -> DocumentStream:
    """Yield one document of a presentation's text and notes, with the slide of each."""
    return extracted(source, stream, _pptx)


def read_xlsx(source: str, stream: BinaryIO, options: ReadOptions) -> DocumentStream:
    """Yield the rows of sheets with the text column, each a document; else the whole text."""
    found: list[Record] = []

    def sheets(content: BinaryIO) -> Iterator[Turn]:
        openpyxl = needs("openpyxl")
        book = openpyxl.load_workbook(content, read_only=True, data_only=True)
        try:
            for sheet in book.worksheets:
                # Rows are counted through the sheets, so that no two documents share an id.
                before = found[-1].number if found else 0
                yield from _sheet(sheet, options, found, before)
        finally:
            book.close()

    yield from extracted(source, stream, sheets, empty=lambda: not found)
    yield from documents_of(source, found, options)


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
        return f"{sum(counts.values())} of {total} pages are images; recognise their text first"

    return with_note(extracted(source, stream, pages), images, words)


def _pptx(content: BinaryIO) -> Iterator[Turn]:
    slides = needs("pptx").Presentation(content).slides
    for number, slide in enumerate(slides, 1):
        texts = [text for shape in slide.shapes for text in _shape(shape)]
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            texts.append(slide.notes_slide.notes_text_frame.text)
        yield Turn("\n".join(filter(str.strip, texts)), fields={"slide": number})


def _shape(shape: Any) -> Iterator[str]:
    if shape.has_text_frame:
        yield shape.text_frame.text
    elif getattr(shape, "has_table", False) and shape.has_table:
        for row in shape.table.rows:
            yield "\t".join(cell.text for cell in row.cells)
    for inner in getattr(shape, "shapes", ()):
        yield from _shape(inner)


def _sheet(sheet: Any, options: ReadOptions, found: list[Record], before: int) -> Iterator[Turn]:
    sheet.reset_dimensions()  # a sheet may claim a million empty rows
    rows = sheet.iter_rows(values_only=True)
    header = next(rows, ())
    columns = ["" if name is None else str(name).strip() for name in header]
    if options.text_field not in columns:
        yield from (_line(row, sheet.title) for row in chain([header], rows))
        return
    try:
        check_columns([name for name in columns if name], options)
    except InputError as error:
        found.append(Record(before + 1, error, _raw(header)))
        return
    for number, row in enumerate(rows, 2):
        if any(cell is not None for cell in row):
            cells = {"sheet": sheet.title} | {
                name: _cell(cell)
                for name, cell in zip(columns, row, strict=False)
                if name and (cell is not None or name == options.text_field)
            }
            found.append(Record(before + number, cells, _raw(row)))


def _raw(row: tuple[Any, ...]) -> str:
    return "\t".join(map(str, row))


def _line(row: tuple[Any, ...], sheet: str) -> Turn:
    cells = (str(_cell(cell)) for cell in row if cell is not None)
    return Turn("\t".join(cells), fields={"sheet": sheet})


def _cell(value: Any) -> Any:
    return value.isoformat() if isinstance(value, (datetime, date, time)) else value
