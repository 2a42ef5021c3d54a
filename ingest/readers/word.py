"""Word files: paragraphs, tables, notes and text boxes, as the author sees them with all changes.

Insertions that wait for approval are read; deletions and comments are not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, BinaryIO

from slice_os.ingest.readers.reader import (
    DocumentStream,
    ReadOptions,
    Turn,
    extracted,
    needs,
    with_note,
)
from slice_os.ingest.readers.speakers import meeting_turns
from slice_os.text.documents import Scalar

_SIGNS = {"tab": "\t", "cr": "\n", "noBreakHyphen": "-", "br": "\n"}
_LEFT_OUT = {"del": "deletions left out", "moveFrom": "deletions left out"}
_KEPT = {"ins": "insertions", "moveTo": "insertions"}
_NOTES = ("footnotes", "endnotes")
_EDGES = ("headers", "footers")
# They hold what is not text of the document: properties, field codes, and a copy for old programs.
_NO_TEXT = frozenset(["pPr", "rPr", "instrText", "Fallback", "sectPr", "tblPr", "trPr", "tcPr"])


def read_docx(source: str, stream: BinaryIO, options: ReadOptions) -> DocumentStream:
    """Yield one document of a Word file's paragraphs and tables, with the heading above each.

    Notes and text boxes follow the paragraph that they belong to. A transcript of a meeting that
    Teams saved becomes a document of turns.
    """
    counts: Counter[str] = Counter()

    def sections(content: BinaryIO) -> Iterator[Turn]:
        return meeting_turns(list(_Word(content, counts).turns(options.page_edges)))

    return with_note(extracted(source, stream, sections), counts)


class _Word:
    """A file, and counts of what is special in it."""

    def __init__(self, content: BinaryIO, counts: Counter[str]) -> None:
        self._file = needs("docx").Document(content)
        self._counts = counts
        self._notes = {kind: self._parts(kind) for kind in _NOTES}
        comments = [one for part in self._roots("comments") for one in part.iterfind("{*}comment")]
        self._count("comments left out", len(comments))

    def turns(self, edges: bool) -> Iterator[Turn]:
        """The sections of the text, in order; headers before it and footers behind it."""
        heads, feet = ([*self._edge(kind)] for kind in _EDGES)
        for kind, own in zip(_EDGES, (heads, feet), strict=True):
            self._count(kind if edges else f"{kind} left out", len(own))
        yield from heads if edges else ()
        heading = ""
        for block in self._blocks(self._file.element.body):
            name = self._style(block)
            found: list[Turn] = []
            text = self._text(block, found)
            if name.startswith(("Heading", "Title")) and text.strip():
                heading = " ".join(text.split())
            above: dict[str, Scalar] = {"heading": heading} if heading else {}
            yield Turn(text, fields=above)
            yield from (Turn(one.text, fields=above | dict(one.fields)) for one in found)
        yield from feet if edges else ()

    def _edge(self, kind: str) -> Iterator[Turn]:
        for root in self._roots(kind.removesuffix("s")):
            text = "\n".join(self._text(block, []) for block in self._blocks(root))
            if text.strip():
                yield Turn(text, fields={"part": kind.removesuffix("s")})

    def _blocks(self, element: Any) -> Iterator[Any]:
        """Paragraphs and rows of tables, also those in controls; not the rows that are deleted."""
        for child in element:
            name = _name(child)
            if name == "p":
                yield child
            elif name == "tr":
                if child.find("{*}trPr/{*}del") is None:
                    yield child
                else:
                    self._count("deletions left out")
            elif name not in _NO_TEXT and name not in _LEFT_OUT:
                yield from self._blocks(child)

    def _text(self, block: Any, found: list[Turn]) -> str:
        """The text of a paragraph or a row; its notes and text boxes are added to ``found``."""
        if _name(block) == "tr":
            self._count("insertions", block.find("{*}trPr/{*}ins") is not None)
            cells = (
                " ".join(filter(None, (self._text(each, found) for each in self._blocks(cell))))
                for cell in block
                if _name(cell) not in _NO_TEXT
            )
            return "\t".join(filter(None, cells))
        return "".join(self._inline(block, found))

    def _inline(self, element: Any, found: list[Turn]) -> Iterator[str]:
        for child in element:
            name = _name(child)
            if name == "t":
                yield child.text or ""
            elif name in _SIGNS:
                in_text = _attribute(child, "type") in (None, "textWrapping")
                yield _SIGNS[name] if in_text else ""  # not the break of a page
            elif name in _LEFT_OUT:
                self._count(_LEFT_OUT[name])
            elif name == "txbxContent":
                text = "\n".join(self._text(block, found) for block in self._blocks(child))
                self._add("text box", "text boxes", text, found)
            elif name in ("footnoteReference", "endnoteReference"):
                kind = name.removesuffix("Reference")
                note = self._notes[f"{kind}s"].get(_id(child))
                if note is not None:
                    text = "\n".join(self._text(block, found) for block in self._blocks(note))
                    self._add(kind, f"{kind}s", text, found)
            elif name not in _NO_TEXT:
                self._count(_KEPT.get(name, ""))
                yield from self._inline(child, found)

    def _add(self, part: str, kind: str, text: str, found: list[Turn]) -> None:
        if text.strip():
            self._count(kind)
            found.append(Turn(text.strip(), fields={"part": part}))

    def _count(self, kind: str, times: int = 1) -> None:
        if kind and times:
            self._counts[kind] += times

    def _style(self, block: Any) -> str:
        if _name(block) != "p":
            return ""
        style = needs("docx.text.paragraph").Paragraph(block, self._file._body).style
        return (style.name or "") if style is not None else ""

    def _parts(self, kind: str) -> dict[str, Any]:
        """The notes of a kind, by their ids; separators are none."""
        notes = (note for root in self._roots(kind) for note in root)
        return {_id(note): note for note in notes if _attribute(note, "type") in (None, "normal")}

    def _roots(self, kind: str) -> Iterator[Any]:
        parse = needs("docx.oxml").parse_xml
        for relation in self._file.part.rels.values():
            if not relation.is_external and relation.reltype.endswith(f"/{kind}"):
                yield parse(relation.target_part.blob)


def _name(element: Any) -> str:
    """The name of an element without its namespace; empty for comments in XML."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _attribute(element: Any, name: str) -> str | None:
    values = (value for key, value in element.attrib.items() if key.endswith(f"}}{name}"))
    return next(values, None)


def _id(element: Any) -> str:
    return _attribute(element, "id") or ""
