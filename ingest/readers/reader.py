"""Options, bad records, and text made of turns, pages or sections, for all readers."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import IO, Any, BinaryIO, NamedTuple, TypeAlias

from slice_os.errors import ENCRYPTED, InputError, MissingExtraError, imported
from slice_os.ingest.readers.dates import check_date_format
from slice_os.tables.spreadsheets import check_unpacked
from slice_os.text.documents import Document, Metadata, Segment, check_language

LONGEST_FILE = 1 << 28
"""Bytes of the longest file that is read as a whole."""

NO_MEMORY = "needs more memory than a file may take"
"""The reason of a file that does."""

# What libraries say of a stream.
_OBJECT = re.compile(r"(?:file )?'?<[\w.]+ object at 0x[0-9a-f]+>'?")
UNREADABLE = "characters that could not be read"
"""What is counted of text with bytes that are wrong in its encoding."""
TOO_DEEP = "nested too deeply to be read"
"""The reason of a file that is."""

TOO_LONG = "takes more than"
"""The reason of a file that is read for too long begins so."""

_LONGEST_RECORD = 10_000
BOM = "\ufeff"
"""The byte order mark."""

OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

_LONGEST_FIELD = 300


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Fields of a JSON line or columns of a table to read, and the encoding.

    Attributes:
        id_field: the document's id; a record without it gets the id ``NAME#LINE``. A table has to
            have this column, unless it is the default.
        text_field: the document's text.
        title_field: words before the text, such as the subject of a ticket; None for none. A
            document may have them alone.
        metadata_fields: the fields to keep as metadata; None keeps every other scalar field.
        group_by: the field that the turns of a document share, with its id; None makes every
            record a document.
        speaker_field: with ``group_by``, the speaker of a turn.
        time_field: with ``group_by``, the start of a turn: seconds, ``HH:MM:SS`` or a date and
            time. The first date is that of the document, unless it has a field ``date``.
        date_field: the date of the document, with a time or without; it becomes the metadata
            field ``date``, in ISO 8601. Of the rows of a group, the first date counts.
        date_format: ``dmy`` or ``mdy``, the order of dates such as 03/04/2026, ``excel`` for its
            numbers of days, or a pattern such as ``%d.%m.%Y %H:%M``; None reads what is clear,
            or settled by other dates of the column, and refuses the rest.
        order_by: with ``group_by``, the field to order turns by; None keeps the file's order.
        encoding: of text files; None detects it.
        delimiter: between the cells of a CSV file; None detects it.
        language: of the texts, an ISO 639 code, by which they are cut into sentences; None for
            the one that the words of each show.
        page_edges: whether headers and footers of Word files and layouts of slides are read.
    """

    id_field: str = "id"
    text_field: str = "text"
    title_field: str | None = None
    metadata_fields: tuple[str, ...] | None = None
    group_by: str | None = None
    speaker_field: str | None = None
    time_field: str | None = None
    date_field: str | None = None
    date_format: str | None = None
    order_by: str | None = None
    encoding: str | None = None
    delimiter: str | None = None
    language: str | None = None
    page_edges: bool = False

    def __post_init__(self) -> None:
        if self.language is not None:
            check_language(self.language)
        if self.encoding is not None:
            _check_encoding(self.encoding)
        if self.date_format is not None:
            check_date_format(self.date_format)
        if self.delimiter is not None and len(self.delimiter) != 1:
            raise InputError(f"delimiter {self.delimiter!r}: give one character")
        for name in ("speaker_field", "time_field", "order_by"):
            if getattr(self, name) is not None and self.group_by is None:
                raise InputError(f"{name}: only with group_by, the field that turns share")
        if self.title_field is not None and self.group_by is not None:
            raise InputError("title_field: not with group_by, where each row is a turn")


@dataclass(frozen=True, slots=True)
class BadRecord:
    r"""A part of a source that could not be used.

    Attributes:
        source: name of the source.
        line: first line of the record, counted from 1; None for the whole source.
        reason: what is wrong, in one line.
        record: the text of the record, undecodable bytes as ``\xff``, shortened to 10,000
            characters.
    """

    source: str
    line: int | None
    reason: str
    record: str


@dataclass(frozen=True, slots=True)
class SkippedFile(BadRecord):
    """A file with nothing to read, of a kind such as ``.png in docs.zip``."""

    kind: str = ""


@dataclass(frozen=True, slots=True)
class ReadNote(BadRecord):
    """What people need to know of a file that was read: counts of what is special in it."""

    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PackedFile:
    """A file in an archive, or an archive that is a document of another format.

    Attributes:
        source: the archive's name, then its own, for documents and bad records.
        path: a name with its extension.
        stream: its bytes, until the reader of the archive goes on.
        format: name of its reader; None to go by first bytes and extension.
        otherwise: name of its reader if these tell none.
    """

    source: str
    path: str
    stream: IO[bytes]
    format: str | None = None
    otherwise: str | None = None


DocumentStream: TypeAlias = Iterator[Document | BadRecord]
"""Documents in the order of a file, and bad records in the place of those that it lacks."""

FileStream: TypeAlias = Iterator[Document | BadRecord | PackedFile]
"""Likewise those of a file that has other files within it, which come last."""

PackedStream: TypeAlias = Iterator[PackedFile | BadRecord]
"""Likewise the files of an archive."""


def bad_record(source: str, line: int | None, reason: str, raw: bytes | str) -> BadRecord:
    """Return a bad record, with the raw text made printable and shortened."""
    record = raw.decode("utf-8", "backslashreplace") if isinstance(raw, bytes) else raw
    # Libraries' own words may be of several lines.
    return BadRecord(source, line, " ".join(reason.split()), shortened(record, _LONGEST_RECORD))


def skipped(name: str, reason: str, what: str, archive: str = "") -> SkippedFile:
    """A skipped file, in an archive or by itself.

    It counts by ``what`` it is, such as its extension, and the name of the archive.
    """
    within = f" in {PurePosixPath(archive).name}" if archive else ""
    return SkippedFile(name, None, reason, "", f"{what}{within}")


def counted(counts: Mapping[str, int]) -> str:
    """Counts in words, such as ``insertions: 2, comments left out: 1``."""
    return ", ".join(f"{kind}: {count:,}" for kind, count in counts.items())


def extension_of(path: str) -> str:
    """The extension of a file, to count it by."""
    return PurePosixPath(path).suffix.lower() or "without extension"


def shortened(text: str, most: int) -> str:
    """A text of so many characters, and a note if it had more."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters in all)"


def is_hidden(name: str) -> bool:
    """Whether a file is hidden by its name, or one that Word and Excel keep beside an open one."""
    return name.startswith((".", "~$"))


def is_blank(text: str) -> bool:
    """Whether a text is only white space, a leading byte order mark aside."""
    return not text.removeprefix(BOM).strip()


def read_whole(stream: IO[bytes]) -> bytes:
    """Read a file of at most `LONGEST_FILE`, or raise an InputError."""
    raw = stream.read(LONGEST_FILE + 1)
    if len(raw) > LONGEST_FILE:
        raise InputError(f"more than {LONGEST_FILE >> 20} MiB in one document; split it")
    return raw


_NO_FIELDS: Metadata = MappingProxyType({})


class Turn(NamedTuple):
    """Words of one speaker without a break, or a page or section.

    Times are in seconds; ``date`` is that of its start, if that was given as one. Many turns may
    share their fields. What is said begins ``after`` so many characters, which name the speaker.
    """

    text: str
    speaker: str | None = None
    start_time: float | None = None
    end_time: float | None = None
    date: str | None = None
    fields: Metadata = _NO_FIELDS
    after: int = 0


def join_turns(turns: Iterable[Turn], between: str = "\n") -> tuple[str, tuple[Segment, ...]]:
    """Join turns that are not blank, each on its own line, to a text and its segments.

    What stands ``between`` them is one character.
    """
    texts: list[str] = []
    segments: list[Segment] = []
    start = 0
    given, fields = _NO_FIELDS, _fields(_NO_FIELDS)
    for text, speaker, begins, ends, _, own, after in turns:
        if is_blank(text):
            continue
        if own is not given:
            given, fields = own, _fields(own)
        end = start + len(text)
        segments.append(Segment(start + after, end, speaker, begins, ends, fields))
        texts.append(text)
        start = end + 1
    return between.join(texts), tuple(segments)


def _check_encoding(name: str) -> None:
    try:
        "".encode(name)
    except (LookupError, ValueError):
        told = f"no encoding {name!r}; there are utf-8, utf-16, cp1252, latin-1 and more"
        raise InputError(told) from None


def needs(module: str) -> Any:
    """Import a library of the extra ``documents``."""
    return imported(module, "this format", "documents")


def extracted(
    source: str,
    stream: BinaryIO,
    sections: Callable[[BinaryIO], Iterable[Turn]],
    counts: Mapping[str, int],
    *,
    empty: Callable[[], bool] = lambda: True,
    metadata: Metadata | None = None,
    words: Callable[[Mapping[str, int]], str] = counted,
) -> DocumentStream:
    """Yield one document of the sections of a file, or a bad record that says why there is none.

    The sections are read from a seekable stream, and may fill the metadata of the document, and
    the counts, which a note then says in ``words``, or the reason why a file has no text. Whether
    such a file is a bad record, ``empty`` tells.
    """
    try:
        raw = read_whole(stream)
        _check(raw)
        text, segments = join_turns(sections(io.BytesIO(raw)))
        if text:
            # Damaged files have lone surrogates.
            yield Document(source, encodable(text), metadata or {}, segments, source)
        elif empty():
            why = words(counts) if counts else "if it is a scan, recognise its text first"
            yield bad_record(source, None, f"no text in it; {why}", "")
            return
    except (InputError, MissingExtraError) as error:
        yield bad_record(source, None, str(error), "")
    except MemoryError:
        yield bad_record(source, None, NO_MEMORY, "")
    except RecursionError:
        yield bad_record(source, None, TOO_DEEP, "")
    except Exception as error:  # libraries raise what they like on a damaged file
        why = _OBJECT.sub("file", " ".join(str(error).split())) or type(error).__name__
        yield bad_record(source, None, f"damaged, or of another format: {why:.200}", "")
    yield from notes_of(source, counts, words)


def notes_of(
    source: str, told: Mapping[str, int], words: Callable[[Mapping[str, int]], str] = counted
) -> Iterator[ReadNote]:
    """A note of what was counted while a source was read, if there is something to tell."""
    if counts := {what: count for what, count in told.items() if count}:
        yield ReadNote(source, None, words(counts), "", counts)


def encodable(text: str) -> str:
    """A text with a question mark for every lone surrogate."""
    return text.encode("utf-8", "replace").decode()


def _fields(fields: Metadata) -> Metadata:
    """Fields of a turn; many turns may have the same, so that none is long."""
    return {
        name: shortened(encodable(value), _LONGEST_FIELD) if isinstance(value, str) else value
        for name, value in fields.items()
    }


def _check(raw: bytes) -> None:
    """Refuse what is empty, encrypted, or unpacks to more than a limit."""
    if not raw:
        raise InputError("empty")
    if not raw.startswith(b"PK\x03\x04"):
        return
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        if any(entry.flag_bits & 1 for entry in archive.infolist()):
            raise InputError(ENCRYPTED)
        check_unpacked(archive)
