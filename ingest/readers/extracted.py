"""Text made of pages or sections: libraries, limits and errors for readers of documents."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, BinaryIO

from slice_os.errors import ENCRYPTED, InputError, MissingExtraError, imported
from slice_os.ingest.readers.reader import (
    LONGEST_FILE,
    NO_MEMORY,
    DocumentStream,
    ReadNote,
    Turn,
    bad_record,
    counted,
    join_turns,
    read_whole,
    shortened,
)
from slice_os.text.documents import Document, Metadata

OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def needs(module: str) -> Any:
    """Import a library of the extra ``documents``."""
    return imported(module, "this format", "documents")


_LONGEST_FIELD = 300


def extracted(
    source: str,
    stream: BinaryIO,
    sections: Callable[[BinaryIO], Iterable[Turn]],
    empty: Callable[[], bool] = lambda: True,
    metadata: Metadata | None = None,
) -> DocumentStream:
    """Yield one document of the sections of a file, or a bad record that says why there is none.

    Args:
        source: its name.
        stream: the file.
        sections: reads the sections of a seekable stream.
        empty: tells whether a file without text is a bad record.
        metadata: of the document; ``sections`` may fill it.
    """
    try:
        raw = read_whole(stream)
        _check(raw)
        # Damaged files have lone surrogates.
        text, segments = join_turns(
            replace(turn, text=_encodable(turn.text), fields=_fields(turn.fields))
            for turn in sections(io.BytesIO(raw))
        )
        if text:
            yield Document(source, text, metadata or {}, segments, source)
        elif empty():
            yield bad_record(source, None, "no text in it; a scan needs text recognition first", "")
    except (InputError, MissingExtraError) as error:
        yield bad_record(source, None, str(error), "")
    except MemoryError:
        yield bad_record(source, None, NO_MEMORY, "")
    except Exception as error:  # libraries raise what they like on a damaged file
        why = " ".join(str(error).split()) or type(error).__name__
        yield bad_record(source, None, f"damaged, or of another format: {why:.200}", "")


def with_note(
    found: DocumentStream,
    counts: Mapping[str, int],
    words: Callable[[Mapping[str, int]], str] = counted,
) -> DocumentStream:
    """The records of a file, and behind a document what was counted while it was read."""
    for one in found:
        yield one
        if isinstance(one, Document) and counts:
            yield ReadNote(one.source, None, words(counts), "", dict(counts))


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _fields(fields: Metadata) -> Metadata:
    """Fields of a turn; many turns may have the same, so that none is long."""
    return {
        name: shortened(_encodable(value), _LONGEST_FIELD) if isinstance(value, str) else value
        for name, value in fields.items()
    }


def _check(raw: bytes) -> None:
    """Refuse what is empty, encrypted, or unpacks to more than a limit."""
    if not raw:
        raise InputError("empty")
    if not raw.startswith(b"PK\x03\x04"):
        return
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        entries = archive.infolist()
    if any(entry.flag_bits & 1 for entry in entries):
        raise InputError(ENCRYPTED)
    if sum(entry.file_size for entry in entries) > LONGEST_FILE:
        raise InputError(f"unpacks to more than {LONGEST_FILE >> 20} MiB")
