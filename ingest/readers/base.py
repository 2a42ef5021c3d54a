"""Shared by all readers: options, bad records, and text made of turns."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from slice_os.documents import Segment

_LONGEST_RECORD = 10_000
_BOM = "\ufeff"


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Which fields of a JSON line or columns of a CSV file are read.

    Attributes:
        id_field: the document's id; a record without it gets the id ``NAME#LINE``.
        text_field: the document's text.
        metadata_fields: the fields to keep as metadata; None keeps every other scalar field.
    """

    id_field: str = "id"
    text_field: str = "text"
    metadata_fields: tuple[str, ...] | None = None


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


def bad_record(source: str, line: int | None, reason: str, raw: bytes | str) -> BadRecord:
    """A bad record with the raw text made printable and shortened."""
    record = raw.decode("utf-8", "backslashreplace") if isinstance(raw, bytes) else raw
    if len(record) > _LONGEST_RECORD:
        record = f"{record[:_LONGEST_RECORD]}… ({len(record):,} characters in all)"
    return BadRecord(source, line, reason, record)


def not_utf8(error: UnicodeDecodeError) -> str:
    """Why bytes are not UTF-8, with the position of the first bad one, counted from 0."""
    byte = error.object[error.start]
    return f"not valid UTF-8: byte 0x{byte:02x} at byte {error.start}; convert it to UTF-8"


def is_blank(text: str) -> bool:
    """Whether a text is only white space, a leading byte order mark aside."""
    return not text.removeprefix(_BOM).strip()


def decode_file(source: str, raw: bytes) -> str | BadRecord:
    """The exact text of a whole file, or a bad record if it is empty or not UTF-8."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return bad_record(source, line, not_utf8(error), raw)
    return bad_record(source, None, "empty", text) if is_blank(text) else text


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker says without a break; times in seconds."""

    text: str
    speaker: str | None = None
    start_time: float | None = None
    end_time: float | None = None


def join_turns(turns: Iterable[Turn]) -> tuple[str, tuple[Segment, ...]]:
    """The text and segments of the turns that are not blank, each on its own line."""
    texts: list[str] = []
    segments: list[Segment] = []
    start = 0
    for turn in turns:
        if is_blank(turn.text):
            continue
        end = start + len(turn.text)
        segments.append(Segment(start, end, turn.speaker, turn.start_time, turn.end_time))
        texts.append(turn.text)
        start = end + 1
    return "\n".join(texts), tuple(segments)
