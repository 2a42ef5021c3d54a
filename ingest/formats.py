"""The formats that ingest reads: name, extensions, help, and where the reader is.

The command line shows them in its help, so importing this module imports no reader.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from slice_os.errors import InputError

if TYPE_CHECKING:
    from slice_os.ingest.readers import BadRecord, PackedFile, ReadOptions
    from slice_os.text.documents import Document

ReadFunction: TypeAlias = (
    "Callable[[str, Any, ReadOptions], Iterator[Document | BadRecord | PackedFile]]"
)
"""Takes the name of a source, its bytes as a stream and the options; yields a document or bad
record for each record, in order, or the files that are packed in it. It raises nothing for bad
input and does not close the stream."""


@dataclass(frozen=True, slots=True)
class Reader:
    """How one format is read.

    Attributes:
        function: ``module:function`` of a `ReadFunction`, imported when a file needs it.
        extensions: of file names, in lower case with the dot.
        description: what becomes a document, for ``--help``.
        magic: what every such file begins with; empty if nothing tells them apart.
    """

    function: str
    extensions: tuple[str, ...]
    description: str
    magic: bytes = b""

    def load(self) -> ReadFunction:
        """Import the function."""
        function: ReadFunction = pkgutil.resolve_name(self.function)
        return function


_PK = b"PK\x03\x04"

# A new format is a file and a line here. Of two that begin alike, the first tells them apart.
READERS = {
    "text": Reader(
        "slice_os.ingest.readers.plain_text:read_text", (".txt", ".md"), "a document per file"
    ),
    "jsonl": Reader(
        "slice_os.ingest.readers.json_records:read_jsonl",
        (".jsonl", ".ndjson"),
        "a JSON object per line, each a document",
    ),
    "json": Reader(
        "slice_os.ingest.readers.json_records:read_json",
        (".json",),
        "an object, or a list of them, each a document",
    ),
    "csv": Reader(
        "slice_os.ingest.readers.tables:read_csv", (".csv",), "a header row, a document per row"
    ),
    "tsv": Reader(
        "slice_os.ingest.readers.tables:read_tsv", (".tsv",), "the same, separated by tabs"
    ),
    "vtt": Reader(
        "slice_os.ingest.readers.subtitles:read_vtt", (".vtt",), "WebVTT, a document per file"
    ),
    "srt": Reader(
        "slice_os.ingest.readers.subtitles:read_srt", (".srt",), "SubRip, a document per file"
    ),
    "pdf": Reader(
        "slice_os.ingest.readers.office:read_pdf", (".pdf",), "PDF, a document per file", b"%PDF-"
    ),
    "zip": Reader(
        "slice_os.ingest.readers.archives:read_zip", (".zip",), "what its files hold", _PK
    ),
    "docx": Reader(
        "slice_os.ingest.readers.office:read_docx", (".docx",), "Word, a document per file", _PK
    ),
    "pptx": Reader(
        "slice_os.ingest.readers.office:read_pptx", (".pptx",), "PowerPoint, likewise", _PK
    ),
    "xlsx": Reader(
        "slice_os.ingest.readers.office:read_xlsx",
        (".xlsx",),
        "Excel, rows like CSV, or a document",
        _PK,
    ),
    "epub": Reader(
        "slice_os.ingest.readers.markup:read_epub", (".epub",), "a document per book", _PK
    ),
    "html": Reader(
        "slice_os.ingest.readers.markup:read_html",
        (".html", ".htm", ".xhtml"),
        "a document per page",
    ),
    "eml": Reader(
        "slice_os.ingest.readers.letters:read_eml", (".eml",), "e-mail, a document per message"
    ),
    "msg": Reader(
        "slice_os.ingest.readers.letters:read_msg",
        (".msg",),
        "Outlook, likewise",
        b"\xd0\xcf\x11\xe0",
    ),
    "rtf": Reader(
        "slice_os.ingest.readers.letters:read_rtf", (".rtf",), "a document per file", b"{\\rtf"
    ),
    "parquet": Reader(
        "slice_os.ingest.readers.columnar:read_parquet",
        (".parquet",),
        "a document per row",
        b"PAR1",
    ),
    "arrow": Reader(
        "slice_os.ingest.readers.columnar:read_arrow", (".arrow", ".feather"), "likewise", b"ARROW1"
    ),
    "gz": Reader(
        "slice_os.ingest.readers.archives:read_gz", (".gz", ".tgz"), "what is packed", b"\x1f\x8b"
    ),
    "tar": Reader("slice_os.ingest.readers.archives:read_tar", (".tar",), "what its files hold"),
}


def reader_named(name: str) -> Reader:
    """The reader of that format.

    Raises:
        InputError: if there is none.
    """
    if name not in READERS:
        raise InputError(f"no format {name!r}; choose one of {', '.join(READERS)}")
    return READERS[name]


def format_of(path: Path) -> str | None:
    """The format that a file's extension or first bytes stand for; None if no reader has it."""
    known = _by_extension(path.suffix)
    return known or format_by(path.name, _head(path))


def format_by(name: str, head: bytes) -> str | None:
    """The format of a file, which its first bytes tell better than its name.

    Args:
        name: of the file.
        head: its first bytes.

    Returns:
        The name of a reader; None if no reader has such files.
    """
    known = _by_extension(Path(name).suffix)
    if known and READERS[known].magic and head.startswith(READERS[known].magic):
        return known
    return format_that_begins(head) or known


def format_that_begins(head: bytes) -> str | None:
    """The first format of files that begin so; None if there is none."""
    begins = (name for name, own in READERS.items() if own.magic and head.startswith(own.magic))
    return next(begins, None)


def _by_extension(suffix: str) -> str | None:
    extension = suffix.lower()
    return next((name for name, own in READERS.items() if extension in own.extensions), None)


def _head(path: Path) -> bytes:
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as stream:
            return stream.read(16)
    except (OSError, ValueError):
        return b""
