"""HTML and EPUB; offsets count the extracted text."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from typing import Any, BinaryIO
from urllib.parse import unquote

from slice_os.errors import InputError
from slice_os.ingest.readers.decoding import encoding_of
from slice_os.ingest.readers.extracted import extracted, needs
from slice_os.ingest.readers.reader import DocumentStream, ReadOptions, Turn

_BLOCKS = frozenset(
    "address article aside blockquote body br caption dd details div dl dt fieldset figcaption "  # noqa: SIM905
    "figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main nav ol option p pre "
    "section summary table tbody td tfoot th thead title tr ul".split()
)
_HEADINGS = frozenset(f"h{level}" for level in range(1, 7))
_UNSEEN = frozenset(("script", "style", "template", "noscript", "head", "svg", "math"))
_DECLARED = re.compile(rb"""<meta[^<>]{0,200}?charset\s{0,9}=\s{0,9}["']?([\w.:-]{1,40})""", re.I)
_CONTAINER = "META-INF/container.xml"


def read_html(source: str, stream: BinaryIO, options: ReadOptions) -> DocumentStream:
    """Yield one document of a page's visible text, with the heading above each paragraph."""
    return extracted(
        source, stream, lambda content: html_sections(content.read(), options.encoding)
    )


def read_epub(source: str, stream: BinaryIO, options: ReadOptions) -> DocumentStream:
    """Yield one document of a book's chapters, with the heading above each paragraph."""
    return extracted(source, stream, _chapters)


def html_sections(page: bytes, encoding: str | None = None) -> Iterator[Turn]:
    """The paragraphs of a page, each with the heading above it.

    Its encoding is by default the one that it declares, or else as detected.
    """
    etree = needs("lxml.etree")
    declared = _DECLARED.search(page[:2048])
    chosen = encoding or (declared[1].decode("ascii") if declared else encoding_of(page))
    try:
        parser = etree.HTMLParser(encoding=chosen, no_network=True, remove_comments=True)
    except LookupError:
        parser = etree.HTMLParser(no_network=True, remove_comments=True)
    root = etree.fromstring(page, parser)
    return iter(()) if root is None else _paragraphs(etree, root)


def _paragraphs(etree: Any, root: Any) -> Iterator[Turn]:
    words: list[str] = []
    heading = ""
    hidden = 0

    def paragraph() -> Iterator[Turn]:
        text = " ".join("".join(words).split())
        words.clear()
        if text:
            yield Turn(text, fields={"heading": heading} if heading else {})

    for event, element in etree.iterwalk(root, events=("start", "end")):
        tag = element.tag if isinstance(element.tag, str) else ""
        opens = event == "start"
        hidden += (1 if opens else -1) if tag in _UNSEEN else 0
        if tag in _BLOCKS:
            if tag in _HEADINGS and not opens:
                heading = " ".join("".join(words).split()) or heading
            yield from paragraph()
        added = element.text if opens else element.tail
        if added and not hidden:
            words.append(added)
    yield from paragraph()


def _chapters(content: BinaryIO) -> Iterator[Turn]:
    with zipfile.ZipFile(content) as book:
        try:
            package = _xml(book, _CONTAINER).find(".//{*}rootfile").get("full-path")
            contents = _xml(book, package)
        except (KeyError, AttributeError):
            raise InputError("not an EPUB book: it has no table of its files") from None
        files = {item.get("id"): item.get("href") for item in contents.iterfind(".//{*}item")}
        for entry in contents.iterfind(".//{*}itemref"):
            href = files.get(entry.get("idref"))
            if href:
                name = posixpath.normpath(posixpath.join(posixpath.dirname(package), unquote(href)))
                yield from html_sections(book.read(name))


def _xml(book: zipfile.ZipFile, name: str) -> Any:
    etree = needs("lxml.etree")
    return etree.fromstring(book.read(name), etree.XMLParser(resolve_entities=False))
