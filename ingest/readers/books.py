"""EPUB; offsets count the extracted text of its chapters, in the order in which they are read."""

from __future__ import annotations

import posixpath
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any, BinaryIO
from urllib.parse import unquote

from slice_os.errors import ENCRYPTED, InputError
from slice_os.ingest.readers.archives import BROKEN_OFF
from slice_os.ingest.readers.decoding import decoded
from slice_os.ingest.readers.markup import LONGEST_TITLE, TITLE, html_sections
from slice_os.ingest.readers.package import count
from slice_os.ingest.readers.reader import (
    DocumentStream,
    ReadOptions,
    Turn,
    encodable,
    extracted,
    needs,
    shortened,
)
from slice_os.text.documents import Scalar

_CONTAINER, _KEYS = "META-INF/container.xml", "META-INF/encryption.xml"
_PAGES = ("html", "xhtml+xml", "x-dtbook+xml", "oeb1-document")


def read_epub(source: str, stream: BinaryIO, options: ReadOptions) -> DocumentStream:
    """Yield one document of a book's chapters, with the heading above each paragraph."""
    counts: Counter[str] = Counter()
    metadata: dict[str, Scalar] = {}

    def sections(content: BinaryIO) -> Iterator[Turn]:
        with zipfile.ZipFile(content) as book:
            yield from _Book(book, counts).chapters(metadata)

    return extracted(source, stream, sections, counts, metadata=metadata)


class _Book:
    """A book, whose files are found however their names are written."""

    def __init__(self, book: zipfile.ZipFile, counts: Counter[str]) -> None:
        self._book, self._counts = book, counts
        names = book.namelist()
        self._names = {name.lower(): name for name in names} | {name: name for name in names}

    def chapters(self, metadata: dict[str, Scalar]) -> Iterator[Turn]:
        """The paragraphs of the chapters; its title is added to the metadata."""
        try:
            package = str(self._xml(_CONTAINER).find(".//{*}rootfile").get("full-path"))
            contents = self._xml(self._named(package) or package)
        except (KeyError, AttributeError):
            raise InputError("not an EPUB book: it has no table of its files") from None
        if title := " ".join((contents.findtext(".//{*}metadata/{*}title") or "").split()):
            metadata[TITLE] = shortened(encodable(title), LONGEST_TITLE)
        items = {item.get("id"): item for item in contents.iterfind(".//{*}manifest/{*}item")}
        pages = list(filter(_is_page, items.values()))
        references = [one.get("idref") for one in contents.iterfind(".//{*}itemref")]
        listed = (_instead(items[one], items) for one in references if one in items)
        order = dict.fromkeys(listed) or dict.fromkeys(pages)
        beside = sum("nav" not in one.get("properties", "") for one in pages if one not in order)
        count(self._counts, "pages outside of the reading order left out", beside)
        read = [one for one in order if _is_page(one) or _is_drawn(one)]
        count(self._counts, "pictures in place of pages left out", len(order) - len(read))
        folder, locked = posixpath.dirname(package), self._locked()
        names = [self._named(posixpath.join(folder, one.get("href", ""))) for one in read]
        count(self._counts, "chapters that are missing", names.count(None))
        encrypted = locked.intersection(names)
        if encrypted and encrypted == set(names) - {None}:
            raise InputError(ENCRYPTED)
        count(self._counts, "encrypted chapters left out", len(encrypted))
        for name in dict.fromkeys(names):
            if name is None or name in locked:
                continue
            try:
                page, sheet = self._book.read(name), partial(self._sheet, posixpath.dirname(name))
                yield from html_sections(page, counts=self._counts, sheet=sheet)
            except (InputError, *BROKEN_OFF):
                count(self._counts, "damaged chapters left out")

    def _sheet(self, folder: str, reference: str) -> str:
        """A style sheet; without one that is damaged, words are read all the same."""
        with suppress(*BROKEN_OFF):
            name = self._named(posixpath.join(folder, reference))
            return decoded(self._book.read(name)) if name else ""
        return ""

    def _locked(self) -> set[str | None]:
        """The files that are encrypted; fonts often are, in books that anybody may read."""
        if _KEYS not in self._names:
            return set()
        return {
            self._named(one.get("URI", "")) for one in self._xml(_KEYS).iter("{*}CipherReference")
        }

    def _named(self, reference: str) -> str | None:
        """The name of the file that an address in the book leads to."""
        path = reference.partition("#")[0]
        ways = (posixpath.normpath(f"/{one}").lstrip("/") for one in (path, unquote(path)))
        written = [name for way in ways for name in (way, way.lower())]
        return next((self._names[name] for name in written if name in self._names), None)

    def _xml(self, name: str) -> Any:
        etree = needs("lxml.etree")
        return etree.fromstring(self._book.read(name), etree.XMLParser(resolve_entities=False))


def _is_page(item: Any) -> bool:
    kind = item.get("media-type", "")
    return kind.endswith(_PAGES) or not kind


def _is_drawn(item: Any) -> bool:
    return str(item.get("media-type", "")).endswith("xml")


def _instead(item: Any, items: dict[str, Any]) -> Any:
    """An item, or the page that stands for it where it cannot be shown, such as a picture."""
    other = items.get(item.get("fallback", ""), item)
    return item if _is_page(item) else other
