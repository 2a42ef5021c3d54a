"""The formats that ingest reads: name, extensions, help, and where the reader is.

The command line shows them in its help, so importing this module imports no reader.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from slice_os.errors import InputError

if TYPE_CHECKING:
    from slice_os.documents import Document
    from slice_os.ingest.readers import BadRecord, ReadOptions

ReadFunction: TypeAlias = "Callable[[str, BinaryIO, ReadOptions], Iterator[Document | BadRecord]]"
"""Takes the name of a source, its bytes and the options; yields a document or bad record for
each record, in order. It raises nothing for bad input and does not close the stream."""


@dataclass(frozen=True, slots=True)
class Reader:
    """How one format is read.

    Attributes:
        function: ``module:function`` of a `ReadFunction`, imported when a file needs it.
        extensions: of file names, in lower case with the dot.
        description: what becomes a document, for ``--help``.
    """

    function: str
    extensions: tuple[str, ...]
    description: str

    def load(self) -> ReadFunction:
        """Import the function."""
        function: ReadFunction = pkgutil.resolve_name(self.function)
        return function


# A new format is a file and a line here.
READERS = {
    "text": Reader(
        "slice_os.ingest.readers.plain_text:read_text", (".txt", ".md"), "a document per file"
    ),
    "jsonl": Reader(
        "slice_os.ingest.readers.json_lines:read_jsonl",
        (".jsonl", ".ndjson"),
        "a JSON object per line, each a document",
    ),
    "json": Reader(
        "slice_os.ingest.readers.json_files:read_json",
        (".json",),
        "an object, or a list of objects, each a document",
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
    """The format that a file's extension stands for; None if no reader has it."""
    extension = path.suffix.lower()
    return next((name for name, own in READERS.items() if extension in own.extensions), None)
