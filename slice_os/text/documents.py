"""Documents, their segments, and other extents of them.

Offsets everywhere are Unicode code points of ``Document.text``, half-open.
"""

from __future__ import annotations

import hashlib
import reprlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from math import isfinite
from typing import Any, TypeAlias

import orjson

from slice_os.errors import InputError, kind_of

ENGLISH = "en"

Scalar: TypeAlias = str | int | float | bool
Metadata: TypeAlias = Mapping[str, Scalar]


@dataclass(frozen=True, slots=True)
class Extent:
    """Code points ``start:end`` of a document."""

    start: int
    end: int

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain JSON types."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Segment:
    """A turn of a conversation, a cue of a subtitle file, or a page or section of a document.

    Passages never cross from one speaker to another.

    Attributes:
        start: first code point in the document's text.
        end: one past the last.
        speaker: name or role, if known.
        start_time: seconds from the beginning of the recording, if known.
        end_time: seconds from the beginning of the recording, if known.
        fields: further fields of hits in it, such as ``page``, ``sheet`` or ``heading``.
    """

    start: int
    end: int
    speaker: str | None = None
    start_time: float | None = None
    end_time: float | None = None
    fields: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Document:
    """A text with an id, stored exactly as given.

    Attributes:
        id: unique in a store; a document replaces an earlier one with the same id.
        text: any Unicode text without lone surrogates.
        metadata: scalar fields that searches can filter by.
        segments: turns or cues, in order and without overlap; empty for plain text.
        source: the file that it came from; empty if a program made it.
        language: of the text, an ISO 639 code such as ``de``, by which it is cut into sentences;
            None for the one that its words show, see `slice_os.text.languages`.

    Raises an `InputError` if the id or the text is not a string, the id is empty, the language is
    not a code, there is a lone surrogate, a metadata value is not a string, a boolean or a number
    that JSON can carry, or segments overlap, go beyond the text, have offsets that are no integers
    or times that are not finite.
    """

    id: str
    text: str
    metadata: Metadata = field(default_factory=dict)
    segments: tuple[Segment, ...] = ()
    source: str = ""
    language: str | None = None

    @property
    def fingerprint(self) -> str:
        """A hash of everything that a store keeps of this document, except its id and source."""
        segments = [_content(segment) for segment in self.segments]
        content: list[object] = [self.text, dict(self.metadata), segments]
        content += [] if self.language is None else [self.language]
        packed = orjson.dumps(content, option=orjson.OPT_SORT_KEYS)
        return hashlib.sha256(packed).hexdigest()[:32]

    def __post_init__(self) -> None:
        for part in ("id", "text", "source"):
            if not isinstance(value := getattr(self, part), str):
                raise InputError(
                    f"the {part} of a document is a string, not {reprlib.repr(value)}; "
                    'give Document("an id", "the text")'
                )
        if not self.id:
            raise InputError("a document needs an id that is not empty")
        where = f"document {self.id!r}"
        if self.language is not None:
            check_language(self.language)
        check_text(self.id, f"id of {where}")
        check_text(self.text, where)
        for name, value in self.metadata.items():
            _check_field(name, value, where)
        position = 0
        checked: Metadata = {}
        for segment in self.segments:
            if segment.speaker:
                check_text(segment.speaker, f"speaker in {where}")
            if segment.fields is not checked:  # which neighbours may share
                checked = segment.fields
                for name, value in checked.items():
                    _check_field(name, value, where)
            whole = type(segment.start) is type(segment.end) is int
            if not (whole and position <= segment.start <= segment.end <= len(self.text)):
                raise InputError(
                    f"{where}: segment {segment.start}..{segment.end} overlaps the one before it, "
                    f"goes beyond the text of {len(self.text)} characters, or has no integers"
                )
            for time in (segment.start_time, segment.end_time):
                if isinstance(time, float) and not isfinite(time):
                    raise InputError(f"{where}: a segment has the time {time}; give seconds")
            position = segment.end


def edges_within(edges: Sequence[int], start: int, end: int) -> Sequence[int]:
    """The starts and ends, one after the other, of the extents that ``start:end`` touches."""
    first = bisect_right(edges, start)
    last = bisect_left(edges, end)
    return edges[first - first % 2 : last + last % 2]


def own_extent(edges: Sequence[int], start: int, end: int) -> Extent | None:
    """One extent of all those that ``start:end`` touches; None if it touches none."""
    touched = edges_within(edges, start, end)
    return Extent(touched[0], touched[-1]) if touched else None


def _content(segment: Segment) -> list[object]:
    content: list[object] = [segment.start, segment.end, segment.speaker]
    content += [segment.start_time, segment.end_time]
    return [*content, dict(segment.fields)] if segment.fields else content


def check_language(code: str) -> None:
    """Refuse a language code that is not two or three small letters."""
    if not (code.isascii() and code.isalpha() and code.islower() and 2 <= len(code) <= 3):
        raise InputError(f"no language {code!r}; give an ISO 639 code, such as en, de or ja")


def checked_documents(documents: Iterable[Document], rows: str = "") -> Iterator[Document]:
    """Check that documents are given: a single object now, each of several when it comes.

    ``rows`` ends the message on a mapping with what else to give.

    Raises:
        InputError: saying what to give.
    """
    if isinstance(documents, (str, bytes, Document, Mapping)):
        raise InputError(
            f"{kind_of(documents)} is not a list of documents; give "
            '[Document("an id", "the text")], or ingest files'
        )
    return map(partial(_checked, rows), documents)


def _checked(rows: str, document: object) -> Document:
    if not isinstance(document, Document):
        named = rows if isinstance(document, Mapping) else ""
        raise InputError(
            f'{kind_of(document)} is not a document; give Document("an id", "the text"){named}'
        )
    return document


def field_text(value: Scalar) -> str:
    """A metadata value as in a filter: a string unchanged, anything else as JSON."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def check_text(text: str, where: str) -> None:
    """Raise an InputError on a lone surrogate, which no encoding of Unicode can represent.

    It names the position of the first, and ``where``, the name of the text.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InputError(
            f"{where}: lone surrogate U+{ord(text[error.start]):04X} at character {error.start}; "
            "decode the text as valid Unicode first"
        ) from None


def _check_field(name: str, value: Scalar, where: str) -> None:
    plain = type(value) in (str, bool) or (type(value) is int and -(2**63) <= value < 2**63)
    if not isinstance(name, str) or not (plain or (type(value) is float and isfinite(value))):
        raise InputError(
            f"{where}: metadata field {name!r} is {reprlib.repr(value)}; "
            "give a string, a boolean, a finite number or an integer of 64 bits"
        )
    check_text(f"{name}{value}", f"metadata field {name!r} of {where}")
