"""Makes a document from the fields of a record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from slice_os.errors import InputError
from slice_os.ingest.readers.reader import ReadOptions, is_blank, join_turns
from slice_os.ingest.readers.transcripts import transcript_turns
from slice_os.ingest.readers.turns import TURN_LISTS, label, turn_of
from slice_os.text.documents import Document, Metadata, Segment

_MOST_LISTED = 20


def document_of(
    fields: Mapping[str, Any], name: str, source: str, options: ReadOptions
) -> Document:
    """Make a document of a record.

    Its text is a string or a list of turns. A record without that field may have its turns in
    ``turns`` or ``messages``, or be a transcript that `transcript_turns` knows.

    Args:
        fields: of the record.
        name: the document's id, unless the record has one.
        source: name of the source.
        options: which fields are read.

    Raises:
        InputError: if a field is missing or has the wrong type.
    """
    used, text, segments = _text(fields, options.text_field)
    skipped = {options.id_field, used}
    return Document(
        id=record_id(fields, options.id_field) or name,
        text=text,
        metadata=metadata_of(fields, options, skipped),
        segments=segments,
        source=source,
    )


def listing(names: Iterable[str]) -> str:
    """The first 20 names, for a message."""
    names = list(names)
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    return (", ".join(map(repr, islice(names, _MOST_LISTED))) or "none") + more


def record_id(fields: Mapping[str, Any], field: str) -> str | None:
    """The id in a field of a record; None if it has none."""
    value = fields.get(field)
    if value is None:
        return None
    if value == "":
        raise InputError(f"field {field!r} is empty; leave it out or give a document id")
    return label(value, f"field {field!r}")


def metadata_of(fields: Mapping[str, Any], options: ReadOptions, skipped: set[str]) -> Metadata:
    """The fields to keep as metadata: all plain values, or those that were chosen."""
    if options.metadata_fields is None:
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


def _text(fields: Mapping[str, Any], field: str) -> tuple[str, str, tuple[Segment, ...]]:
    """The name of the field with the text, the text and its turns."""
    used, value = field, fields.get(field)
    if value is None:
        used = next((name for name in TURN_LISTS if isinstance(fields.get(name), list)), field)
        value = fields.get(used)
    if value is None and (turns := transcript_turns(fields)):
        return field, *join_turns(turns)
    if value is not None and not isinstance(value, (str, list)):
        raise InputError(
            f"field {field!r} is a {type(value).__name__}; give a string or a list of turns"
        )
    if isinstance(value, list):
        text, segments = join_turns(turn_of(turn, number) for number, turn in enumerate(value, 1))
    else:
        text, segments = value or "", ()
    if is_blank(text):
        raise InputError(
            f"field {field!r} is missing or empty; the record's fields are {listing(fields)}"
        )
    return used, text, segments
