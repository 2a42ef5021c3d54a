"""The metadata fields of a local store, and their values."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from slice_os.query.filter_values import parse_number
from slice_os.query.filters import Condition, unknown_field
from slice_os.stores.protocol import FieldValue

# Values that are looked at to tell a field of numbers from one of texts.
_SAMPLE = 1_000
# A label whose documents were all deleted stays in the table of labels.
_FIELDS = """
SELECT DISTINCT field FROM labels
WHERE EXISTS (SELECT 1 FROM passage_labels WHERE label = labels.id) ORDER BY field
"""
_SOME = """
SELECT value FROM labels
WHERE field = ? AND EXISTS (SELECT 1 FROM passage_labels WHERE label = labels.id) LIMIT ?
"""
_COUNTED = """
SELECT value, count(DISTINCT document) AS found
FROM labels JOIN passage_labels ON label = labels.id JOIN passages ON passages.id = passage
WHERE field = ? GROUP BY labels.id ORDER BY found DESC, value LIMIT ?
"""


def field_kinds(connection: sqlite3.Connection) -> dict[str, str]:
    """The fields, each ``text`` or ``number``."""
    names = [name for (name,) in connection.execute(_FIELDS).fetchall()]
    return {name: _kind(connection, name) for name in names}


def values_of(
    connection: sqlite3.Connection, field: str, limit: int, folder: Path
) -> list[FieldValue]:
    """The most frequent values of a field; see `Store.field_values`."""
    found = [FieldValue(*row) for row in connection.execute(_COUNTED, (field, limit))]
    if not found:
        names = [name for (name,) in connection.execute(_FIELDS)]
        if field not in names:
            raise unknown_field(Condition(field, "eq", ()), names, folder)
    return found


def _kind(connection: sqlite3.Connection, field: str) -> str:
    texts = [text for (text,) in connection.execute(_SOME, (field, _SAMPLE))]
    return "number" if all(parse_number(text) is not None for text in texts) else "text"
