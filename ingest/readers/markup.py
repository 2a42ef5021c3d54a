"""HTML and EPUB; offsets count the extracted text."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from typing import Any, BinaryIO
from urllib.parse import unquote

from slice_os.errors import InputError
from slice_os.ingest.readers.decoding import SAMPLE, UTF8, decoded, encoding_marked
from slice_os.ingest.readers.reader import DocumentStream, ReadOptions, Turn, extracted, needs

_BLOCKS = frozenset(
    "address article aside blockquote body br caption dd details div dl dt fieldset figcaption "  # noqa: SIM905
    "figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main nav ol option p pre "
    "section summary table tbody td tfoot th thead title tr ul".split()
)
_HEADINGS = frozenset(f"h{level}" for level in range(1, 7))
_UNSEEN = frozenset(("script", "style", "template", "noscript", "head", "svg", "math"))
_DECLARED = re.compile(
    rb"""<(?:meta[^<>]{0,200}?charset|\?xml\s[^<>]{0,200}?encoding)\s{0,9}=\s{0,9}["']?([\w.:-]{1,40})""",
    re.I,
)
_DEEPEST = 1_000
_CONTAINER = "META-INF/container.xml"


def read_html(source: str, stream: BinaryIO, options: ReadOptions) -> DocumentStream:
    """Yield one document of a page's visible text, with the heading above each paragraph."""
    return extracted(
        source, stream, lambda content: html_sections(content.read(), options.encoding)
    )


def read_epub(source: str, stream: BinaryIO, options: ReadOptions) -> DocumentStream:
    """Yield one document of a book's chapters, with the heading above each paragraph."""
    return extracted(source, stream, _chapters)


def html_sections(page: bytes, encoding: str | None = None) -> list[Turn]:
    """The paragraphs of a page, each with the heading above it.

    Its encoding is by default that of its byte order mark, or the one that it declares, or else as
    detected.
    """
    etree = needs("lxml.etree")
    # The library would leave out the rest of a page behind bytes that it cannot decode.
    raw = decoded(page, encoding or _declared(page)).encode(UTF8, "replace")
    # Without a tree, which takes time quadratic in the attributes of an element.
    paragraphs = _Paragraphs()
    parser = etree.HTMLParser(encoding=UTF8, target=paragraphs, no_network=True)
    for start in range(0, len(raw), SAMPLE):
        parser.feed(raw[start : start + SAMPLE])
        # Each end tag is looked for in all elements around it.
        if paragraphs.depth > _DEEPEST:
            raise InputError(f"elements within elements, more than {_DEEPEST:,} deep")
    found: list[Turn] = parser.close()
    return found


def _declared(page: bytes) -> str | None:
    """The encoding that a page without a byte order mark declares."""
    found = None if encoding_marked(page) else _DECLARED.search(page[:2048])
    name = found[1].decode().lower() if found else None
    # A declaration that can be read is not in UTF-16.
    return UTF8 if name in ("utf-16", "utf-16le", "utf-16be") else name


class _Paragraphs:
    """Gathers the visible text of a page; ``depth`` elements have begun and not ended."""

    def __init__(self) -> None:
        self._found: list[Turn] = []
        self._words: list[str] = []
        self._heading = ""
        self._hidden = 0
        self.depth = 0

    def start(self, tag: str, _attributes: object) -> None:
        """An element begins."""
        self.depth += 1
        self._hidden += tag in _UNSEEN
        if tag in _BLOCKS:
            self._end_paragraph()

    def end(self, tag: str) -> None:
        """An element ends."""
        self.depth -= 1
        self._hidden -= tag in _UNSEEN
        if tag in _BLOCKS:
            text = self._end_paragraph()
            self._heading = text if text and tag in _HEADINGS else self._heading

    def data(self, text: str) -> None:
        """Text, in parts of any length."""
        if not self._hidden:
            self._words.append(text)

    def close(self) -> list[Turn]:
        """The page ends."""
        self._end_paragraph()
        return self._found

    def _end_paragraph(self) -> str:
        text = " ".join("".join(self._words).split())
        self._words.clear()
        if text:
            fields = {"heading": self._heading} if self._heading else {}
            self._found.append(Turn(text, fields=fields))
        return text


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
