"""PowerPoint files: what is on each slide, in its order, and the notes for its speaker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from slice_os.ingest.readers.package import Package, attribute, count, is_on
from slice_os.ingest.readers.paragraphs import Walk
from slice_os.ingest.readers.reader import FileStream, PackedFile, ReadOptions, Turn, extracted

# Of the page that the notes are printed on.
_EDGES = frozenset(["sldNum", "dt", "hdr", "ftr"])


def read_pptx(source: str, stream: BinaryIO, options: ReadOptions) -> FileStream:
    """Yield one document of a presentation's text and notes, with the slide of each.

    Files within it come next.
    """
    counts: Counter[str] = Counter()
    packed: list[PackedFile] = []

    def sections(content: BinaryIO) -> Iterator[Turn]:
        package = Package(content, counts)
        slides = list(_slides(package))
        designs = list(_designs(package, slides))
        kind = "texts of layouts"
        count(counts, kind if options.page_edges else f"{kind} left out", len(designs))
        yield from designs if options.page_edges else ()
        for number, part in enumerate(slides, 1):
            yield Turn("\n".join(_slide(package, part)), fields={"slide": number})
            packed.extend(package.beside(source, part))

    yield from extracted(source, stream, sections, counts)
    yield from packed


def _slides(package: Package) -> Iterator[str]:
    relations = package.relations(package.main)
    for one in package.root(package.main).iterfind("{*}sldIdLst/{*}sldId"):
        relation = relations.get(attribute(one, "id"))
        yield "" if relation is None else relation.part


def _slide(package: Package, part: str) -> Iterator[str]:
    root = package.root(part)
    count(package.counts, "hidden slides", not is_on(root.get("show", "1")))
    yield from _words(package, part, root)
    for notes in package.related(part, "notesSlide"):
        shapes = list(_shapes(package.root(notes)))
        edges = [one for one in shapes if _place(one) in _EDGES]
        said = [text for text in _words(package, notes, edges) if any(map(str.isalpha, text))]
        count(package.counts, "headers and footers of notes left out", len(said))
        yield from _words(package, notes, (one for one in shapes if one not in edges))


def _designs(package: Package, slides: Iterable[str]) -> Iterator[Turn]:
    """What layouts and masters show on slides; placeholders only say what to put there."""
    layouts = dict.fromkeys(one for part in slides for one in package.related(part, "slideLayout"))
    masters = dict.fromkeys(one for part in layouts for one in package.related(part, "slideMaster"))
    for part in (*masters, *layouts):
        shapes = (one for one in _shapes(package.root(part)) if _place(one) is None)
        if text := "\n".join(_words(package, part, shapes)):
            yield Turn(text, fields={"part": "layout"})


def _shapes(root: Any) -> Iterator[Any]:
    return (shape for tree in root.iterfind("{*}cSld/{*}spTree") for shape in tree)


def _place(shape: Any) -> str | None:
    """The type of placeholder that a shape is; None if it is none."""
    place = shape.find("*/{*}nvPr/{*}ph")
    return None if place is None else place.get("type", "obj")


def _words(package: Package, part: str, elements: Iterable[Any]) -> Iterator[str]:
    lines = Walk(package, part).lines(elements)
    return (line.text for line in lines if line.text.strip())
