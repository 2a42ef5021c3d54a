"""Copies of files with their hits marked: highlights in PDF, comments in Word files."""

from __future__ import annotations

import ctypes
import io
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slice_os.errors import InputError, imported
from slice_os.hits.bands import rounded_down
from slice_os.hits.hit import Hit
from slice_os.originals.finding import DOCX, PDF, FindOriginal, Original
from slice_os.originals.pdf_pages import boxes_on_page, opened
from slice_os.tables.replacing import replacing
from slice_os.text.documents import Document, Extent, Segment
from slice_os.text.pdf import page_text
from slice_os.text.pdf_annotations import Box

AUTHOR = "SLICE-OS"

# Light enough to read black words through; a group of hits has one of its own, in turn.
_COLOURS = (
    (255, 224, 102),
    (150, 230, 170),
    (160, 205, 255),
    (255, 180, 195),
    (215, 185, 255),
    (255, 200, 140),
)

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_TEXT, _HYPHEN = f"{_WORD}t", f"{_WORD}noBreakHyphen"
_RUN, _STYLE = f"{_WORD}r", f"{_WORD}rPr"
# What was moved away, and pictures of text boxes for old versions of Word.
_UNREAD = {
    f"{_WORD}moveFrom",
    "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback",
}
# Their words are in other parts of the file, which have no comments.
_ASIDE = ("header", "footer", "footnote", "endnote", "chart", "SmartArt")
_PRESERVE = "{http://www.w3.org/XML/1998/namespace}space"
_CONTEXT = 200


@dataclass(frozen=True, slots=True)
class Mark:
    """A hit in a document: code points of its text, the words there, and a note.

    The note has the phrase and what speaks for and against the hit. The colour is red, green and
    blue, from 0 to 255.
    """

    doc_id: str
    extent: Extent
    text: str
    note: str
    colour: tuple[int, int, int]

    def overlaps(self, segment: Segment) -> bool:
        """Whether it has a character of a segment."""
        return self.extent.start < segment.end and segment.start < self.extent.end


def marks_of(hits: Iterable[Hit]) -> Iterator[Mark]:
    """A mark for each hit; hits of one topic or phrase have one colour."""
    groups: dict[str, int] = {}
    for hit in hits:
        group = groups.setdefault(hit.group, len(groups))
        colour = _COLOURS[group % len(_COLOURS)]
        yield Mark(hit.doc_id, Extent(hit.start, hit.end), hit.text, _note(hit), colour)


def _note(hit: Hit) -> str:
    known = hit.probability
    likely = "" if known is None else f"probability {rounded_down(known)}, {hit.band}"
    said = "" if hit.label is None else "people say: right" if hit.label else "people say: wrong"
    lines = [said, hit.topic, f"“{hit.phrase}”", likely or f"cosine {hit.cosine:.2f}", *hit.reasons]
    return "\n".join(line for line in lines if line)


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
            indices = page_text(page).indices
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


def write_comments(
    original: Original, document: Document, marks: Sequence[Mark], path: Path
) -> int:
    """Write a copy with a comment at each mark; returns how many have a place.

    Words of footnotes, headers and footers have none.
    """
    docx = imported("docx", "this format", "documents")
    try:
        file = docx.Document(io.BytesIO(original.content()))
    except (KeyError, ValueError):
        raise InputError(f"{original.path}: gets no marks; save it once more as .docx") from None
    body = file.element.body
    characters = list(_characters(body))
    squeezed = "".join(character for character, _, _ in characters)
    aside = [one for one in document.segments if one.fields.get("part") in _ASIDE]
    places = [
        None if any(map(mark.overlaps, aside)) else _place(mark, document.text, squeezed)
        for mark in marks
    ]
    edges = {edge for place in places if place for edge in (place.start, place.end)}
    # The last one first: what is before it stays where it was.
    for edge in sorted(edges & set(range(1, len(characters))), reverse=True):
        _part(characters[edge - 1][1], *characters[edge][1:])
    located = [element for _, element, _ in _characters(body)]
    for mark, place in zip(marks, places, strict=True):
        if place:
            ends = located[place.start], located[place.end - 1]
            runs = [docx.text.run.Run(_outermost(end.getparent()), file) for end in ends]
            file.add_comment(runs, mark.note, AUTHOR, "S")
    file.save(path)
    return sum(place is not None for place in places)


def _characters(body: Any) -> Iterator[tuple[str, Any, int]]:
    """The characters but blanks, each with its element and its position in that."""
    for element in body.iter(_TEXT, _HYPHEN):
        if not any(above.tag in _UNREAD for above in element.iterancestors()):
            text = "-" if element.tag == _HYPHEN else element.text or ""
            for at, character in enumerate(text):
                if not character.isspace():
                    yield character, element, at


def _place(mark: Mark, text: str, body: str) -> Extent | None:
    """The place of a mark's words among the characters; None if they are not there.

    Of several such places it is the one with the most of the same words around it, or the nearest.
    """
    start, end = mark.extent.start, mark.extent.end
    words = _squeezed(mark.text)
    before = _squeezed(text[max(0, start - _CONTEXT) : start])[::-1]
    after = _squeezed(text[end : end + _CONTEXT])
    expected = len(_squeezed(text[:start]))
    best, most = None, -1
    for at in _occurrences(words, body, expected):
        stop = at + len(words)
        left, right = body[max(0, at - _CONTEXT) : at][::-1], body[stop : stop + _CONTEXT]
        shared = _shared(before, left) + _shared(after, right)
        if shared > most:
            best, most = Extent(at, stop), shared
        if shared == len(before) + len(after):
            break  # the nearest one with all of them
    return best


def _shared(one: str, other: str) -> int:
    """Number of characters that two texts begin with alike."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _occurrences(words: str, body: str, place: int) -> Iterator[int]:
    """Where words are in a text, those that are nearest to a place first."""
    before = body.rfind(words, 0, place + len(words) - 1)
    after = body.find(words, place)
    while words and max(before, after) >= 0:
        if after < 0 or (before >= 0 and place - before <= after - place):
            yield before
            before = body.rfind(words, 0, before + len(words) - 1)
        else:
            yield after
            after = body.find(words, after + 1)


def _part(former: Any, element: Any, at: int) -> None:
    """Let a new run begin at a character, if the one before it is of the same run."""
    run = element.getparent()
    if former.getparent() is not run:
        return
    moved = [element, *element.itersiblings()]
    if at:
        moved[0] = deepcopy(element)
        moved[0].text, element.text = element.text[at:], element.text[:at]
        for part in (moved[0], element):
            part.set(_PRESERVE, "preserve")
    new = run.makeelement(_RUN)
    style = run.find(_STYLE)
    new.extend([*([] if style is None else [deepcopy(style)]), *moved])
    run.addnext(new)


def _outermost(run: Any) -> Any:
    """The run itself, or the one that has its text box, in which no comment can begin."""
    return next(reversed([run, *run.iterancestors(_RUN)]))


WRITERS = {PDF: write_highlights, DOCX: write_comments}
EXTENSIONS = {f".{name}": name for name in WRITERS}


@dataclass(frozen=True, slots=True)
class MarkedCopy:
    """The result for one document: its marked copy, if there is one, and how many hits have a mark.

    It says ``why`` there is no copy, or hits are without a mark; empty if all are well.
    """

    doc_id: str
    path: Path | None
    hits: int
    marked: int
    why: str = ""


def is_marked(path: Path) -> bool:
    """Whether a path asks for marked copies: a PDF or Word file, or a folder of them."""
    return path.suffix.lower() in EXTENSIONS or path.is_dir()


def write_marked(hits: Iterable[Hit], path: Path, find: FindOriginal) -> list[MarkedCopy]:
    """Write copies of the files that have hits, with each hit marked.

    A folder gets a copy of each file, under its own name; in place of a file that has no copy,
    the answer says why. A file is the copy of the only document with hits.

    Raises an `InputError` if a file is wanted and hits are in several, or it cannot be copied.
    """
    marks: dict[str, list[Mark]] = {}
    for mark in marks_of(hits):
        marks.setdefault(mark.doc_id, []).append(mark)
    if not path.is_dir():
        if len(marks) > 1:
            raise InputError(
                f"{path}: hits are in {len(marks)} documents; name a folder ({path.stem}/) for a "
                "copy of each, or look for hits in one alone: --filter _id=ID"
            )
        return [_copied(doc_id, own, path, find(doc_id)) for doc_id, own in marks.items()]
    copies: list[MarkedCopy] = []
    taken: set[str] = set()
    for doc_id, own in sorted(marks.items()):
        try:
            original = find(doc_id)
            copies.append(_copied(doc_id, own, path / _free(original.path, taken), original))
        except InputError as error:
            why = str(error).removeprefix(f"{doc_id}: ")
            copies.append(MarkedCopy(doc_id, None, len(own), 0, why))
    return copies


def _free(path: Path, taken: set[str]) -> str:
    """The name of a file, numbered if another folder has one of that name."""
    name, number = path.name, 1
    while name.lower() in taken:
        number += 1
        name = f"{path.stem}-{number}{path.suffix}"
    taken.add(name.lower())
    return name


def _copied(doc_id: str, marks: Sequence[Mark], path: Path, original: Original) -> MarkedCopy:
    if EXTENSIONS.get(path.suffix.lower()) != original.format:
        raise InputError(f"{path}: the hits are in {original.path.name}; end its name like that")
    if path.resolve() == original.path:
        raise InputError(f"{path}: is the original, which stays as it is; choose another name")
    document = original.read((one.extent.start, one.extent.end, one.text) for one in marks)
    with replacing(path) as part:
        marked = WRITERS[original.format](original, document, marks, part)
    why = "" if marked == len(marks) else "the others are in footnotes, headers or the like"
    return MarkedCopy(doc_id, path, len(marks), marked, why)
