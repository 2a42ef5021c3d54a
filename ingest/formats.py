"""The formats that ingest reads: name, extensions, help, and the place of the reader.

The command line shows them in its help, so importing this module imports no reader.
"""

from __future__ import annotations

import contextlib
import logging
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from slice_os.errors import InputError, PluginError
from slice_os.plugins import plugins

if TYPE_CHECKING:
    from slice_os.ingest.readers import BadRecord, PackedFile, ReadOptions
    from slice_os.text.documents import Document

GROUP = "slice_os.readers"
"""Entry points of this group are formats of other packages: a name, and a `Reader`."""

_logger = logging.getLogger(__name__)

ReadFunction: TypeAlias = (
    "Callable[[str, Any, ReadOptions], Iterator[Document | BadRecord | PackedFile]]"
)
"""Takes the name of a source, its bytes as a stream and the options; yields a document or bad
record for each record, in order, or the files that are packed in it. It raises nothing for bad
input and does not close the stream."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A way to read one format.

    Attributes:
        function: ``module:function`` of a `ReadFunction`, imported when a file needs it.
        extensions: of file names, in lower case with the dot.
        description: what becomes a document, for ``--help``.
        magic: first bytes of every such file; empty if nothing tells them apart.
        apart: whether a library parses the whole file, so that it is read in a process of its own.
        streamed: whether that process reads it piece by piece, however long it is.
    """

    function: str
    extensions: tuple[str, ...]
    description: str
    magic: bytes = b""
    apart: bool = False
    streamed: bool = False

    def load(self) -> ReadFunction:
        """Import the function."""
        return pkgutil.resolve_name(self.function)  # type: ignore[no-any-return]


_STREAMED = ("columnar",)
_WHOLE = ("pages", "word", "slides", "sheets", "markup", "books", "letters", "outlook", "rtf")


def _ours(function: str, extensions: str, description: str, magic: bytes = b"") -> Reader:
    apart = function.startswith(_WHOLE + _STREAMED)
    place = f"{__package__}.readers.{function}"
    streamed = function.startswith(_STREAMED)
    return Reader(place, tuple(extensions.split()), description, magic, apart, streamed)


_PK = b"PK\x03\x04"
_WORD = ".docx .docm .dotx .dotm"
_SLIDES = ".pptx .pptm .ppsx .ppsm .potx .potm"
_SHEETS = ".xlsx .xlsm .xltx .xltm"
# A new format is a file and a line here. Of two that begin alike, the first tells them apart.
READERS = {
    "text": _ours("speakers:read_text", ".txt .md", "a document per file"),
    "jsonl": _ours("records:read_jsonl", ".jsonl .ndjson", "JSON, a document per line"),
    "json": _ours("records:read_json", ".json", "a list of objects, or one, each a document"),
    "csv": _ours("tables:read_csv", ".csv", "a header row, a document per row"),
    "tsv": _ours("tables:read_tsv", ".tsv", "the same, separated by tabs"),
    "vtt": _ours("subtitles:read_vtt", ".vtt", "WebVTT, a document per file"),
    "srt": _ours("subtitles:read_srt", ".srt .sbv", "SubRip, a document per file"),
    "pdf": _ours("pages:read_pdf", ".pdf", "PDF, a document per file", b"%PDF-"),
    "zip": _ours("archives:read_zip", ".zip", "what its files hold", _PK),
    "docx": _ours("word:read_docx", _WORD, "Word, a document per file", _PK),
    "pptx": _ours("slides:read_pptx", _SLIDES, "PowerPoint, likewise", _PK),
    "xlsx": _ours("sheets:read_xlsx", _SHEETS, "Excel, rows like CSV, or a document", _PK),
    "epub": _ours("books:read_epub", ".epub", "a document per book", _PK),
    "html": _ours("markup:read_html", ".html .htm .xhtml", "a document per page"),
    "eml": _ours("letters:read_eml", ".eml", "e-mail, a document per message"),
    "mbox": _ours("archives:read_mbox", ".mbox .mbx", "the messages of a mailbox"),
    "mht": _ours("letters:read_mht", ".mht .mhtml", "a saved page"),
    "msg": _ours("outlook:read_msg", ".msg", "Outlook, likewise", b"\xd0\xcf\x11\xe0"),
    "rtf": _ours("rtf:read_rtf", ".rtf", "a document per file", b"{\\rtf"),
    "parquet": _ours("columnar:read_parquet", ".parquet", "a document per row", b"PAR1"),
    "arrow": _ours("columnar:read_arrow", ".arrow .feather", "likewise", b"ARROW1"),
    "gz": _ours("archives:read_gz", ".gz .tgz", "what is packed", b"\x1f\x8b"),
    "tar": _ours("archives:read_tar", ".tar", "what its files hold"),
}


def readers() -> dict[str, Reader]:
    """All readers by the name of their format, with those of other packages last."""
    return {**READERS, **{name: own for name, own in _installed().items() if name not in READERS}}


def reader_named(name: str) -> Reader:
    """The reader of that format.

    Raises an `InputError` if there is none.
    """
    known = readers()
    if name not in known:
        raise InputError(f"no format {name!r}; choose one of {', '.join(known)}")
    return known[name]


def format_of(path: Path) -> str | None:
    """The format of a file by its extension or first bytes; None if no reader has it."""
    return _by_extension(path.suffix) or format_that_begins(_head(path))


def format_by(name: str, head: bytes) -> str | None:
    """The format of a file by its first bytes, or else its name; None if no reader has it."""
    known = _by_extension(Path(name).suffix)
    magic = readers()[known].magic if known else b""
    return known if magic and head.startswith(magic) else format_that_begins(head) or known


def format_that_begins(head: bytes) -> str | None:
    """The first format of files that begin so; None if there is none."""
    begins = (name for name, own in readers().items() if own.magic and head.startswith(own.magic))
    return next(begins, None)


def _by_extension(suffix: str) -> str | None:
    extension = suffix.lower()
    return next((name for name, own in readers().items() if extension in own.extensions), None)


@cache
def _installed() -> dict[str, Reader]:
    found = {}
    for plugin in plugins(GROUP):
        try:
            found[plugin.name] = plugin.load(Reader)
        except PluginError as error:
            _logger.warning("%s", error)
    return found


def _head(path: Path) -> bytes:
    with contextlib.suppress(OSError, ValueError):
        if path.is_file():
            with path.open("rb") as stream:
                return stream.read(16)
    return b""
