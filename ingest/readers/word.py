"""Word files: paragraphs, tables, notes and text boxes, as the author sees them with all changes.

Insertions that wait for approval are read; deletions and comments are not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from itertools import chain, pairwise
from typing import Any, BinaryIO

from slice_os.ingest.readers.letters import read_mht
from slice_os.ingest.readers.markup import read_html
from slice_os.ingest.readers.package import Package, attribute, count, edges, name_of
from slice_os.ingest.readers.paragraphs import Line, Walk
from slice_os.ingest.readers.reader import (
    FileStream,
    PackedFile,
    ReadNote,
    ReadOptions,
    Turn,
    extracted,
)
from slice_os.ingest.readers.rtf import read_rtf
from slice_os.ingest.readers.speakers import meeting_turns, read_text
from slice_os.text.documents import Document, Scalar

_PLURALS = {"text box": "text boxes", "SmartArt": "SmartArt"}
_WORD = re.compile(r"[^\W\d_]{2,}")


def read_docx(source: str, stream: BinaryIO, options: ReadOptions) -> FileStream:
    """Yield one document of a Word file's paragraphs and tables, with the heading above each.

    Notes and text boxes follow the paragraph that they belong to. A transcript of a meeting that
    Teams saved becomes a document of turns. Files within it come next.
    """
    counts: Counter[str] = Counter()
    packed: list[PackedFile] = []

    def sections(content: BinaryIO) -> Iterator[Turn]:
        package = Package(content, counts)
        yield from meeting_turns(list(_turns(package, options)))
        packed.extend(package.beside(source, package.main))

    yield from extracted(source, stream, sections, counts)
    yield from packed


def _turns(package: Package, options: ReadOptions) -> Iterator[Turn]:
    """The sections of the text, in order; headers before it and footers behind it."""
    heads, feet = (
        edges(kind, _edge(package, kind), options, package.counts) for kind in ("header", "footer")
    )
    yield from heads
    styles = _styles(package)
    root = package.root(package.main)
    count(package.counts, "words of numbers left out", _numbered(package, root))
    heading = ""
    chunk = partial(_chunk, package.counts, options)
    for line in Walk(package, package.main, chunk).lines(root):
        if not line.text.strip():
            continue
        if styles.get(line.style, "").startswith(("heading", "title")):
            heading = " ".join(line.text.split())
        fields: dict[str, Scalar] = {"heading": heading} if heading else {}
        if line.part:
            count(package.counts, _PLURALS.get(line.part, f"{line.part}s"))
            fields["part"] = line.part
        yield Turn(line.text.strip() if line.part else line.text, fields=fields)
    yield from feet


def _edge(package: Package, kind: str) -> Iterator[str]:
    for part in package.related(package.main, kind):
        lines: Iterator[Line] = Walk(package, part).lines(package.root(part))
        if text := "\n".join(one.text for one in lines if one.text.strip()):
            yield text


def _styles(package: Package) -> dict[str, str]:
    """The names of styles, which are English in files of any language, by their ids."""
    names = (name for styles in package.styles for name in styles.iterfind("{*}style/{*}name"))
    return {attribute(one.getparent(), "styleId"): attribute(one, "val").lower() for one in names}


def _numbered(package: Package, root: Any) -> int:
    """The number of paragraphs that Word numbers with words, such as ``Article 1``."""
    texts: dict[tuple[str, str], bool] = {}
    own: dict[str, str] = {}
    for part in package.related(package.main, "numbering"):
        numbering = package.root(part)
        for one in numbering.iterfind("{*}num/{*}abstractNumId"):
            own[attribute(one.getparent(), "numId")] = attribute(one, "val")
        for one in numbering.iterfind("{*}abstractNum/{*}lvl/{*}lvlText"):
            level = one.getparent()
            key = attribute(level.getparent(), "abstractNumId"), attribute(level, "ilvl")
            texts[key] = _WORD.search(attribute(one, "val")) is not None

    def is_worded(properties: Any) -> bool | None:
        found = {name_of(one): attribute(one, "val") for one in properties.iterfind("{*}numPr/*")}
        number = own.get(found.get("numId", ""), "")
        return texts.get((number, found.get("ilvl", "0"))) if found else None

    by_style = {
        attribute(one.getparent(), "styleId"): bool(is_worded(one))
        for styles in package.styles
        for one in styles.iterfind("{*}style/{*}pPr")
    }
    found = 0
    for properties in root.iter("{*}pPr"):
        direct = is_worded(properties)
        style = properties.find("{*}pStyle")
        styled = style is not None and by_style.get(attribute(style, "val"), False)
        found += styled if direct is None else direct
    return found


def _chunk(counts: Counter[str], options: ReadOptions, name: str, content: bytes) -> Iterator[str]:
    """The paragraphs of a file of another format that is a part of the text."""
    by_name = (one for end, one in _NAMED.items() if name.lower().endswith(end))
    by_magic = (one for begin, one in _BEGIN.items() if content.startswith(begin))
    read = next(chain(by_name, by_magic), None)
    said = False
    for found in () if read is None else read(name, BytesIO(content), options):
        if isinstance(found, Document):
            said = True
            # Names of speakers stand between the segments.
            ends = [one.end for one in found.segments[:-1]]
            cuts = pairwise([0, *ends, len(found.text)])
            yield from (found.text[start:end].strip() for start, end in cuts)
        elif isinstance(found, ReadNote):
            counts.update(found.counts)
    count(counts, "chunks left out", not said)


_NAMED: dict[str, Callable[[str, BinaryIO, ReadOptions], FileStream]] = {
    ".txt": read_text,
    **dict.fromkeys((".html", ".htm"), read_html),
    **dict.fromkeys((".mht", ".mhtml"), read_mht),
}
_BEGIN = {b"PK\x03\x04": read_docx, b"{\\rtf": read_rtf, b"<": read_html}
