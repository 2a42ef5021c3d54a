"""Texts that lie over the pages of PDF files: values of fields, notes, and files that are attached.

What is seen is read; what opens only by a click, such as a comment, is counted.
"""

from __future__ import annotations

import ctypes
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from html import unescape
from typing import Any, NamedTuple, TypeAlias

from slice_os.errors import imported

Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right and bottom: in pixels from the top left of a picture, or in units of a page."""

_UNSEEN = 1 << 1 | 1 << 5
"""Flags of an annotation that is hidden, or not shown on screens."""
_PASSWORD = 1 << 13
_DEEPEST = 8
_TAG = re.compile("<[^<>]*>")


class _Functions:
    """The functions and numbers of PDFium, which is loaded when the first is used."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(imported("pypdfium2.raw", "this format", "documents"), name)
        setattr(self, name, found)
        return found


RAW: Any = _Functions()


class Annotation(NamedTuple):
    """The text of an annotation, its number on the page and its box there.

    It is the value of a field, or else a note.
    """

    number: int
    text: str
    box: Box
    is_value: bool


def annotations_of(page: Any) -> tuple[list[Annotation], Counter[str]]:
    """The annotations of a page that show text, and counts of those that are left out."""
    found: list[Annotation] = []
    left_out: Counter[str] = Counter()
    beside = RAW.FPDF_ANNOT_LINK, RAW.FPDF_ANNOT_POPUP, RAW.FPDF_ANNOT_FILEATTACHMENT
    for number, one in _each(page):
        kind = RAW.FPDFAnnot_GetSubtype(one)
        if kind in beside or RAW.FPDFAnnot_GetFlags(one) & _UNSEEN:
            continue
        is_value = kind == RAW.FPDF_ANNOT_WIDGET
        if is_value and (others := _not_chosen(page, one)):
            left_out["options that are not chosen left out"] += others
        text = _value(page, one) if is_value else _contents(one)
        if text and (is_value or kind == RAW.FPDF_ANNOT_FREETEXT):
            found.append(Annotation(number, text, annotation_box(page, number), is_value))
        elif text:
            left_out["comments left out"] += 1
        elif text is not None and _shows_words(one):
            left_out["buttons, signatures and stamps left out"] += 1
    return found, left_out


def annotation_box(page: Any, number: int) -> Box:
    """The box of an annotation, in units of the page."""
    box = RAW.FS_RECTF()
    annotation = RAW.FPDFPage_GetAnnot(page, number)
    RAW.FPDFAnnot_GetRect(annotation, box)
    RAW.FPDFPage_CloseAnnot(annotation)
    return box.left, max(box.top, box.bottom), box.right, min(box.top, box.bottom)


def attached_files(document: Any) -> Iterator[tuple[str, bytes]]:
    """The files that are attached to a ``pypdfium2.PdfDocument``, by their names.

    One without content has none.
    """
    for number in range(document.count_attachments()):
        yield _file(document.get_attachment(number))


def files_on_page(document: Any, page: Any) -> Iterator[tuple[str, bytes]]:
    """Likewise the files that are pinned to a page."""
    attachment = imported("pypdfium2", "this format", "documents").PdfAttachment
    for _, one in _each(page):
        is_file = RAW.FPDFAnnot_GetSubtype(one) == RAW.FPDF_ANNOT_FILEATTACHMENT
        if is_file and (pinned := RAW.FPDFAnnot_GetFileAttachment(one)):
            yield _file(attachment(pinned, document))


def _each(page: Any) -> Iterator[tuple[int, Any]]:
    for number in range(RAW.FPDFPage_GetAnnotCount(page)):
        if one := RAW.FPDFPage_GetAnnot(page, number):
            yield number, one
            RAW.FPDFPage_CloseAnnot(one)


def _file(attachment: Any) -> tuple[str, bytes]:
    error = imported("pypdfium2", "this format", "documents").PdfiumError
    name = _string(RAW.FPDFAttachment_GetName, attachment)  # as it is, even if it is damaged
    try:
        return name, bytes(attachment.get_data())
    except error:
        return name, b""


def _value(page: Any, annotation: Any) -> str | None:
    """The shown value of a field: its text, the labels that are chosen, or a cross in its box.

    None if that is no text, empty if it is not known.
    """
    if not page.formenv:
        return ""
    own = page.formenv, annotation
    kind = RAW.FPDFAnnot_GetFormFieldType(*own)
    if kind in (RAW.FPDF_FORMFIELD_CHECKBOX, RAW.FPDF_FORMFIELD_RADIOBUTTON):
        return "☒" if RAW.FPDFAnnot_IsChecked(*own) else None
    if kind in (RAW.FPDF_FORMFIELD_COMBOBOX, RAW.FPDF_FORMFIELD_LISTBOX):
        chosen = _chosen(own)
        if chosen:
            return "\n".join(_string(RAW.FPDFAnnot_GetOptionLabel, *own, at) for at in chosen)
    elif kind != RAW.FPDF_FORMFIELD_TEXTFIELD:
        return ""
    elif RAW.FPDFAnnot_GetFormFieldFlags(*own) & _PASSWORD:
        return None
    return _string(RAW.FPDFAnnot_GetFormFieldValue, *own)


def _chosen(field: tuple[Any, Any]) -> list[int]:
    options = range(max(0, RAW.FPDFAnnot_GetOptionCount(*field)))
    return [at for at in options if RAW.FPDFAnnot_IsOptionSelected(*field, at)]


def _not_chosen(page: Any, annotation: Any) -> int:
    """The number of options of a list that are shown and not its value."""
    own = page.formenv, annotation
    if not page.formenv or RAW.FPDFAnnot_GetFormFieldType(*own) != RAW.FPDF_FORMFIELD_LISTBOX:
        return 0
    return int(RAW.FPDFAnnot_GetOptionCount(*own)) - len(_chosen(own))


def _contents(annotation: Any) -> str:
    """What a note says: its text, or else the words of its text with styles."""
    read = partial(_string, RAW.FPDFAnnot_GetStringValue, annotation)
    return read(b"Contents") or unescape(_TAG.sub(" ", read(b"RC"))).strip()


def _string(read: Callable[..., int], *own: Any) -> str:
    """A text that PDFium writes into a buffer, without the white space around it."""
    size = read(*own, None, 0)
    buffer = ctypes.create_string_buffer(size)
    read(*own, ctypes.cast(buffer, ctypes.POINTER(ctypes.c_ushort)), size)
    text = buffer.raw.decode("utf-16-le", "replace").replace("\0", "")
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def _shows_words(annotation: Any) -> bool:
    """Whether an annotation is drawn with letters."""
    drawn = range(RAW.FPDFAnnot_GetObjectCount(annotation))
    return any(_has_letters(RAW.FPDFAnnot_GetObject(annotation, at)) for at in drawn)


def _has_letters(drawn: Any, depth: int = 0) -> bool:
    kind = RAW.FPDFPageObj_GetType(drawn)
    if kind != RAW.FPDF_PAGEOBJ_FORM or depth == _DEEPEST:
        return bool(kind == RAW.FPDF_PAGEOBJ_TEXT)
    parts = range(RAW.FPDFFormObj_CountObjects(drawn))
    return any(_has_letters(RAW.FPDFFormObj_GetObject(drawn, at), depth + 1) for at in parts)
