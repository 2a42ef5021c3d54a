"""Makes a document from the fields of a record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from slice_os.documents import Document, Metadata, Segment
from slice_os.errors import InputError
from slice_os.ingest.readers.base import ReadOptions, Turn, is_blank, join_turns

_MOST_LISTED = 20


def document_of(
    fields: Mapping[str, Any], source: str, line: int, options: ReadOptions
) -> Document:
    """The document of a record.

    Raises:
        InputError: if a field is missing or has the wrong type.
    """
    text, segments = _text(fields, options.text_field)
    return Document(
        id=_id(fields, options.id_field) or f"{source}#{line}",
        text=text,
        metadata=_metadata(fields, options),
        segments=segments,
        source=source,
    )


def listing(names: Iterable[str]) -> str:
    """Names for a message, the first 20 of them."""
    names = list(names)
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return (", ".join(map(repr, islice(names, _MOST_LISTED))) or "none") + more


def _id(fields: Mapping[str, Any], field: str) -> str | None:
    value = fields.get(field)
    if value is None:
        return None
    if value == "":
        raise InputError(f"field {field!r} is empty; leave it out or give a document id")
    return _label(value, f"field {field!r}")


def _label(value: Any, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise InputError(f"{where} is a {type(value).__name__}; give a string or an integer")
    return str(value)


def _text(fields: Mapping[str, Any], field: str) -> tuple[str, tuple[Segment, ...]]:
    value = fields.get(field)
    if value is not None and not isinstance(value, (str, list)):
        raise InputError(
            f"field {field!r} is a {type(value).__name__}; give a string or a list of turns"
        )
    if isinstance(value, list):
        text, segments = join_turns(_turn(turn, number) for number, turn in enumerate(value, 1))
    else:
        text, segments = value or "", ()
    if is_blank(text):
        raise InputError(
            f"field {field!r} is missing or empty; the record's fields are {listing(fields)}"
        )
    return text, segments


def _turn(value: Any, number: int) -> Turn:
    if isinstance(value, str):
        return Turn(value)
    if not isinstance(value, dict) or not isinstance(value.get("text"), str):
        raise InputError(f"turn {number} has no text; give a string or an object with 'text'")
    speaker = value.get("speaker")
    return Turn(
        text=value["text"],
        speaker=None if speaker is None else _label(speaker, f"speaker of turn {number}"),
        start_time=_time(value, "start_time", number),
        end_time=_time(value, "end_time", number),
    )


def _time(turn: Mapping[str, Any], field: str, number: int) -> float | None:
    value = turn.get(field)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{field} of turn {number} is a {type(value).__name__}; give seconds")
    return float(value)


def _metadata(fields: Mapping[str, Any], options: ReadOptions) -> Metadata:
    if options.metadata_fields is None:
        skipped = (options.id_field, options.text_field)
        return {
            name: value
            for name, value in fields.items()
            if name not in skipped and isinstance(value, (str, int, float))
        }
    metadata = {}
    for name in options.metadata_fields:
        value = fields.get(name)
        if isinstance(value, (str, int, float)):
            metadata[name] = value
        elif value is not None:
            raise InputError(
                f"metadata field {name!r} is a {type(value).__name__}; "
                "give a string, number or boolean"
            )
    return metadata
