"""Finds the file that a document came from, by the recorded path, and checks its content."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from slice_os.errors import InputError
from slice_os.ingest.decisions import SourceState
from slice_os.ingest.formats import format_of, reader_named
from slice_os.ingest.readers import ReadOptions
from slice_os.ingest.readers.reader import read_whole
from slice_os.stores.protocol import Store
from slice_os.text.documents import Document

PDF, DOCX = "pdf", "docx"
# Templates and files with macros, which the library that writes comments refuses.
_VARIANTS = (".docm", ".dotx", ".dotm")


class NoPagesError(InputError):
    """A document is of no file that has pages, or can have marks."""


@dataclass(frozen=True, slots=True)
class Original:
    """The file that a document came from, by its path without links; a `PDF` or `DOCX`.

    Its SHA-256 is that of when it was read; empty if that was just now. For ``page_edges`` see
    `ReadOptions`.
    """

    path: Path
    sha256: str
    format: str
    page_edges: bool = False

    def content(self) -> bytes:
        """The bytes of the file, which are those that were read.

        Raises an `InputError` if it is gone or has changed.
        """
        if os.path.realpath(self.path) != str(self.path) or not self.path.is_file():
            raise InputError(f"{self.path}: gone; put it back, or ingest it again")
        try:
            with self.path.open("rb") as stream:
                raw = read_whole(stream)
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read: {error.strerror}") from None
        if self.sha256 and hashlib.sha256(raw).hexdigest() != self.sha256:
            raise InputError(f"{self.path}: changed since it was read; ingest it again")
        return raw

    def read(self, quotes: Iterable[tuple[int, int, str]] = ()) -> Document:
        """Its text and segments, read once more.

        Quotes are offsets of the text with the words that are there.

        Raises an `InputError` as `content` does, or if it reads differently than it did.
        """
        read = reader_named(self.format).load()
        options = ReadOptions(page_edges=self.page_edges)
        found = next(iter(read(str(self.path), io.BytesIO(self.content()), options)))
        if not isinstance(found, Document) or any(
            found.text[start:end] != words for start, end, words in quotes
        ):
            raise InputError(f"{self.path}: reads differently now; ingest it again")
        return found


FindOriginal: TypeAlias = Callable[[str], Original]
"""Gives the original of a document by its id, or raises an `InputError` that says why not; a
`NoPagesError`, if it never had one."""


def find_original(store: Store, doc_id: str) -> Original:
    """The original of a document of a store.

    Raises an `InputError` if the store does not know its file; see `FindOriginal`.
    """
    stored = store.find_documents([doc_id]).get(doc_id)
    if stored is None:
        raise InputError(f"no document {doc_id!r}")
    source = stored.source
    if not source:
        raise NoPagesError(f"{doc_id}: has no file; a program added it")
    if not source.startswith("/"):
        raise InputError(
            f"{doc_id}: the store has the name {source}, not the path of its file; ingest it "
            "without --source"
        )
    known = SourceState.parse(store.source_signatures([source]).get(source, ""))
    original = original_at(doc_id, source, "'page_edges': True" in known.read_as)
    if not known.sha256:
        raise InputError(f"{doc_id}: no checksum of its file is recorded; ingest it again")
    return replace(original, sha256=known.sha256)


def original_at(doc_id: str, source: str, page_edges: bool = False) -> Original:
    """The original of a document that came from a path.

    Raises a `NoPagesError` if that is neither a PDF nor a Word file by itself.
    """
    path = Path(source)
    known = format_of(path)
    if known not in (PDF, DOCX):
        raise NoPagesError(f"{doc_id}: {path.name} is no PDF or Word file; only those get marks")
    if not doc_id.endswith(path.name):
        raise NoPagesError(f"{doc_id}: is a file within {path.name}; save it by itself for marks")
    if known == DOCX and path.suffix.lower() in _VARIANTS:
        raise NoPagesError(f"{doc_id}: {path.suffix} files get no marks; save it as .docx")
    return Original(path, "", known, page_edges)
