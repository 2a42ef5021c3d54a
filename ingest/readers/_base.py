"""What every reader shares: options, bad records, and text made of turns."""

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
        id_field: the document's id; where it is missing the id is ``NAME#LINE``.
        text_field: the document's text.
        metadata_fields: the fields kept as metadata; None keeps every other scalar one.
    """

    id_field: str = "id"
    text_field: str = "text"
    metadata_fields: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class BadRecord:
    r"""A part of a source that could not be used.

    Attributes:
        source: name of the source.
        line: first line of the record, counted from 1; None if the whole source is meant.
        reason: one line that says what is wrong.
        record: the record as it stands in the source, undecodable bytes as ``\xff``, shortened
            to 10,000 characters.
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
    """The reason for bytes that are not UTF-8, with the position of the first one from 0."""
    byte = error.object[error.start]
    return f"not valid UTF-8: byte 0x{byte:02x} at byte {error.start}; convert it to UTF-8"


def is_blank(text: str) -> bool:
    """Whether a text has nothing but white space and perhaps a byte order mark."""
    return not text.removeprefix(_BOM).strip()


def decode_file(source: str, raw: bytes) -> str | BadRecord:
    """The text of a whole file, exactly as it is, or why there is none."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return bad_record(source, line, not_utf8(error), raw)
    return bad_record(source, None, "empty", text) if is_blank(text) else text


@dataclass(frozen=True, slots=True)
class Turn:
    """What one speaker says at once; times in seconds."""

    text: str
    speaker: str | None = None
    start_time: float | None = None
    end_time: float | None = None


def join_turns(turns: Iterable[Turn]) -> tuple[str, tuple[Segment, ...]]:
    """The turns that are not blank, one after the other on lines of their own."""
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
