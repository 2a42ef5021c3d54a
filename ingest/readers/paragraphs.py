"""The paragraphs of Office files: text, tables, text boxes, charts and SmartArt, as they are seen.

Word, PowerPoint and Excel share the names of what holds text, so one walk reads the parts of all.
Tracked changes are read as if they were accepted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from slice_os.ingest.readers.package import Package, attribute, count, is_on, name_of

# As Word's own format has them; no XML does.
_FIELD = {"begin": "\x13", "separate": "\x14", "end": "\x15"}
_FIELD_MARK = re.compile("([\x13-\x15])")
_SIGNS = {"tab": "\t", "ptab": "\t", "cr": "\n", "noBreakHyphen": "-"}
_LEFT_OUT = {"del": "deletions left out", "moveFrom": "deletions left out"}
_HIDDEN = "hidden texts left out"
_KEPT = {"ins": "insertions", "moveTo": "insertions"}
_CHANGES = frozenset([*_LEFT_OUT, *_KEPT])
_SHAPES = frozenset(["sp", "pic", "graphicFrame", "grpSp", "cxnSp", "anchor", "inline"])
_DRAWN = frozenset(["drawing", "pict", "object"])
_MARKED_GONE = ("{*}pPr/{*}rPr/{*}del", "{*}pPr/{*}rPr/{*}moveFrom")
# They hold what is not text of the document: properties, codes of fields, and how to pronounce.
_NO_TEXT = frozenset(
    ["pPr", "rPr", "instrText", "sectPr", "sdtPr", "tblPr", "trPr", "tcPr", "tblGrid", "rPh"]
)
_NO_WORDS = frozenset(["numCache", "numLit", "numDim", "pivotSource"])
# Letters and signs of the fonts that Word inserts symbols from.
_FONTS = {
    "Symbol": str.maketrans(
        "ABCDEFGHIKLMNOPQRSTUWXYZabcdefghiklmnopqrstuwxyz£¥«¬®°±³´¶·¸¹º»ÎÖåò",
        "ΑΒΧΔΕΦΓΗΙΚΛΜΝΟΠΘΡΣΤΥΩΞΨΖαβχδεφγηικλμνοπθρστυωξψζ≤∞↔←→°±≥×∂•÷≠≡≈∈√∑∫",
    ),
    "Wingdings": str.maketrans("JLo§¨ßàáâûüýþ", "☺☹☐▪☐←→↑↓✗✓☒☑"),
}
_PRIVATE = re.compile("[\uf000-\uf0ff]")
_ESCAPED = re.compile("_x([0-9A-Fa-f]{4})_")

CHART, SMART_ART, TEXT_BOX = "chart", "SmartArt", "text box"
FORMULAS = "formulas and readings in fields left out"
"""What is counted of fields that show their code."""

ReadChunk: TypeAlias = Callable[[str, bytes], Iterable[str]]
"""Gives the paragraphs of a file of another format, by its name and content."""


class Line(NamedTuple):
    """A paragraph or the row of a table, or what stands beside the one before it.

    ``part`` says what that is, such as `TEXT_BOX` or ``footnote``; empty for what is in the text.
    ``style`` is the id of the paragraph's style. A line that ``goes_on`` is continued by the next.
    """

    text: str
    part: str = ""
    style: str = ""
    goes_on: bool = False


class Walk:
    """Reads the lines of a part of a file; see `Package` for what is counted.

    Files in ``chunks`` are parts of the text; ``repeats`` says whether charts repeat the words of
    cells, which they then leave out.
    """

    def __init__(
        self, package: Package, part: str, chunk: ReadChunk | None = None, repeats: bool = False
    ) -> None:
        self._package, self._part, self._chunk, self._repeats = package, part, chunk, repeats
        self._hides = False

    def lines(self, elements: Iterable[Any]) -> Iterator[Line]:
        """The lines of elements, in order; those beside a paragraph follow it."""
        current, beside = None, list[Line]()
        for line in self._lines(elements):
            if line.part:
                beside.append(line)
            elif current is not None and current.goes_on:
                current = line._replace(text=current.text + line.text)
            else:
                yield from () if current is None else (current,)
                yield from beside
                current, beside = line, []
        yield from () if current is None else (current,)
        yield from beside

    def text(self, element: Any) -> str:
        """The words of an element, such as a cell, without what is beside them."""
        return _without_codes(one for one in self._inline(element) if isinstance(one, str))

    def _at(self, part: str) -> Walk:
        return Walk(self._package, part, self._chunk, self._repeats)

    def _lines(self, elements: Iterable[Any]) -> Iterator[Line]:
        for child in elements:
            name = name_of(child)
            if name == "p":
                yield from self._paragraph(child)
            elif name == "tr":
                yield from self._row(child)
            elif name == "txbxContent":
                yield from self._together(self.lines(child), TEXT_BOX)
            elif name == "textpath":
                yield Line(child.get("string", ""), TEXT_BOX)
            elif name == "AlternateContent":
                yield from _first(self._lines(branch) for branch in child)
            elif name == "altChunk" and self._chunk is not None:
                part = self._target(child, "id")
                content = self._package.read(part)
                count(self._package.counts, "missing parts", content is None)
                yield from map(Line, self._chunk(part, content or b""))
            elif name == "relIds":
                part = self._target(child, "dm")
                yield from self._together(self._at(part).lines(self._package.root(part)), SMART_ART)
            elif name == "chart" and attribute(child, "id"):
                part = self._target(child, "id")
                words = self._at(part)._chart(self._package.root(part))
                yield Line("\n".join(dict.fromkeys(filter(str.strip, words))), CHART)
            elif self._is_shown(child, name):
                yield from self._lines(child)

    def _paragraph(self, element: Any) -> Iterator[Line]:
        named = element.find("{*}pPr/{*}pStyle")
        style = "" if named is None else attribute(named, "val")
        outer, self._hides = self._hides, style in self._package.hidden_styles
        found = list(self._inline(element))
        self._hides = outer
        yield Line(
            _without_codes(one for one in found if isinstance(one, str)),
            style=style,
            goes_on=_goes_on(element),
        )
        yield from (one for one in found if isinstance(one, Line))

    def _row(self, row: Any) -> Iterator[Line]:
        if row.find("{*}trPr/{*}del") is not None:
            count(self._package.counts, _LEFT_OUT["del"])
            return
        count(self._package.counts, _KEPT["ins"], row.find("{*}trPr/{*}ins") is not None)
        cells = [list(self.lines([cell])) for cell in row if name_of(cell) not in _NO_TEXT]
        texts = (" ".join(one.text for one in cell if one.text and not one.part) for cell in cells)
        yield Line("\t".join(filter(None, texts)))
        yield from (one for cell in cells for one in cell if one.part)

    def _inline(self, element: Any) -> Iterator[str | Line]:
        """The words of a paragraph, and the lines that stand beside it."""
        for child in element:
            name = name_of(child)
            if name == "t":
                yield _in_fonts(child, self._unescaped(child.text or ""))
            elif name in _SIGNS:
                yield _SIGNS[name]
            elif name == "br":
                # A title of slides goes on in the next line.
                yield "\v" if "drawingml" in child.tag else "\n"
            elif name == "sym":
                yield sign(attribute(child, "font"), attribute(child, "char"))
            elif name == "fldChar":
                # The state of an old form is seen before its code.
                yield from self._inline(child)
                yield _FIELD.get(attribute(child, "fldCharType"), "")
            elif name == "ffData":
                yield from _old_field(child)
            elif name in _DRAWN:
                yield from (one._replace(part=one.part or TEXT_BOX) for one in self.lines(child))
            elif name in ("footnoteReference", "endnoteReference"):
                kind = name.removesuffix("Reference")
                part, note = self._notes.get((kind, attribute(child, "id")), ("", ()))
                yield from self._together(self._at(part).lines(note), kind)
            elif name == "AlternateContent":
                yield from _first(self._inline(branch) for branch in child)
            elif name == "ruby":
                said = "".join(self.text(one) for one in child.iterfind("{*}rt"))
                for base in child.iterfind("{*}rubyBase"):
                    yield from self._inline(base)
                yield f"({said})"
            elif self._is_shown(child, name):
                yield "/" if name == "den" else ""
                yield from self._inline(child)

    def _chart(self, element: Any) -> Iterator[str]:
        for child in element:
            name = name_of(child)
            if name == "p":
                yield self.text(child)
            elif name == "userShapes":
                part = self._target(child, "id")
                yield from (one.text for one in self._at(part).lines(self._package.root(part)))
            elif name in ("v", "pt", "name") and not len(child):
                yield "" if self._repeats else child.text or ""
            elif name not in _NO_WORDS:
                yield from self._chart(child)

    def _together(self, lines: Iterable[Line], part: str) -> Iterator[Line]:
        """Lines of another part as one, and what is beside them."""
        found = list(lines)
        yield Line("\n".join(one.text for one in found if one.text and not one.part), part)
        yield from (one for one in found if one.part)

    def _is_shown(self, element: Any, name: str) -> bool:
        counts = self._package.counts
        if name in _NO_TEXT:
            # Such a field shows its code, not a result.
            is_shown = name == "instrText" and (element.text or "").lstrip().startswith("EQ ")
            count(counts, FORMULAS, is_shown)
            return False
        if name in _CHANGES and "wordprocessingml" not in element.tag:
            return True
        if name in _LEFT_OUT:
            count(counts, _LEFT_OUT[name])
            return False
        if name == "r" and self._is_hidden(element):
            count(counts, _HIDDEN, element.find("{*}t") is not None)
            return False
        if name in _SHAPES and any(
            is_on(one.get("hidden"))
            for path in ("{*}docPr", "*/{*}cNvPr")
            for one in element.iterfind(path)
        ):
            count(counts, "hidden shapes left out")
            return False
        count(counts, _KEPT.get(name, ""))
        return True

    def _is_hidden(self, run: Any) -> bool:
        """Whether a run is hidden, as it says itself, or by one of two styles but not by both."""
        own = run.find("{*}rPr/{*}vanish")
        if own is not None:
            return is_on(attribute(own, "val") or "1")
        hidden = self._package.hidden_styles
        style = run.find("{*}rPr/{*}rStyle") if hidden else None
        return self._hides != (style is not None and attribute(style, "val") in hidden)

    def _target(self, element: Any, name: str) -> str:
        """The part that an attribute of an element leads to; empty if to none."""
        relation = self._package.relations(self._part).get(attribute(element, name))
        return "" if relation is None else relation.part

    @cached_property
    def _notes(self) -> dict[tuple[str, str], tuple[str, Any]]:
        """The notes of a document by kind and id, with their part; separators are none."""
        return {
            (kind, attribute(note, "id")): (part, note)
            for kind in ("footnote", "endnote")
            for part in self._package.related(self._part, f"{kind}s")
            for note in self._package.root(part)
            if (attribute(note, "type") or "normal") == "normal"
        }

    def _unescaped(self, text: str) -> str:
        """A text without the escapes of Excel and PowerPoint, which Word does not have."""
        return text if self._part.startswith("word/") else unescaped(text)


def unescaped(text: str) -> str:
    r"""A text of Excel or PowerPoint, in which ``_x000D_`` is the character U+000D.

    The end of a line is ``\n``.
    """
    if "_x" in text:
        text = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _goes_on(paragraph: Any) -> bool:
    """Whether the end of a paragraph is deleted, or its large initial begins the next one.

    A table is none.
    """
    after = next(paragraph.itersiblings("{*}p", "{*}tbl"), None)
    if after is not None and name_of(after) == "tbl":
        return False
    frame = paragraph.find("{*}pPr/{*}framePr")
    is_initial = frame is not None and attribute(frame, "dropCap") in ("drop", "margin")
    return is_initial or any(paragraph.find(path) is not None for path in _MARKED_GONE)


def _first(branches: Iterable[Iterator[Any]]) -> Iterator[Any]:
    """What the first branch says that says something: the others say it for older programs."""
    for branch in branches:
        found = list(branch)
        if any((one if isinstance(one, str) else one.text).strip() for one in found):
            yield from found
            return


def _without_codes(words: Iterable[str]) -> str:
    """The words of a paragraph without codes of fields, which other fields may stand in."""
    text = list[str]()
    # Where the code of each field that has not ended begins; None behind the code.
    codes = list[int | None]()
    for piece in _FIELD_MARK.split("".join(words)):
        if piece == _FIELD["begin"]:
            codes.append(len(text))
        elif piece not in _FIELD.values():
            text.append(piece)
        elif codes and (begin := codes.pop()) is not None:
            del text[begin:]
        if piece == _FIELD["separate"]:
            codes.append(None)
    # A field may end in a later paragraph.
    return "".join(text)


def _in_fonts(element: Any, text: str) -> str:
    """A text of Word as fonts of symbols show it, which LibreOffice does not write as symbols."""
    if not _PRIVATE.search(text):
        return text
    fonts = element.getparent().find("{*}rPr/{*}rFonts")
    font = "" if fonts is None else attribute(fonts, "ascii")
    return _PRIVATE.sub(lambda found: sign(font, f"{ord(found[0]):x}"), text)


def sign(font: str, code: str) -> str:
    """The character of a symbol; none if its code is damaged."""
    with suppress(ValueError, OverflowError):
        number = int(code, 16)
        # Fonts of symbols have their characters in a private area of Unicode, too.
        within = number - 0xF000 if number >= 0xF000 else number
        return chr(_FONTS.get(font, {}).get(within, number))
    return ""


def _old_field(field: Any) -> Iterator[str]:
    """What a check box or a list of an old form shows."""
    for box in field.iterfind("{*}checkBox"):
        states = [box.find(f"{{*}}{name}") for name in ("checked", "default")]
        state = next((one for one in states if one is not None), None)
        checked = state is not None and is_on(attribute(state, "val") or "1")
        yield "☒" if checked else "☐"
    for choice in field.iterfind("{*}ddList"):
        entries = [attribute(one, "val") for one in choice.iterfind("{*}listEntry")]
        chosen = choice.find("{*}result")
        number = (attribute(chosen, "val") if chosen is not None else "") or "0"
        yield from (one for at, one in enumerate(entries) if str(at) == number)
