"""The metadata fields of a local store: their labels, their values, and filtering by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from slice_os.arrays import IntArray
from slice_os.query.filter_values import parse_number
from slice_os.query.filters import (
    DOCUMENT_ID,
    Condition,
    matcher,
    missing,
    tell_absent,
    unknown_field,
)
from slice_os.stores.local.arrays import rows_with
from slice_os.stores.local.files import Database
from slice_os.stores.protocol import FieldValue
from slice_os.text.documents import Metadata, field_text
from slice_os.text.passage_layout import LAYOUT
from slice_os.threads import checkpoint

MOST_NAMED = 500
# Values that are looked at to tell a field of numbers from one of texts.
_SAMPLE = 1_000
_FREQUENT = 1_000

# A label whose documents were all deleted stays in the table of labels.
_IN_USE = "EXISTS (SELECT 1 FROM passage_labels WHERE label = labels.id)"
_FIELDS = f"SELECT DISTINCT field FROM labels WHERE {_IN_USE} ORDER BY field"  # noqa: S608
_LABELS = f"SELECT id, value FROM labels WHERE field = ? AND {_IN_USE}"  # noqa: S608
_SOME = f"SELECT value FROM labels WHERE field = ? AND {_IN_USE} LIMIT ?"  # noqa: S608
_COUNTED = """
SELECT max(value) AS value, count(DISTINCT document) AS found
FROM labels JOIN passage_labels ON label = labels.id JOIN passages ON passages.id = passage
WHERE field = ? GROUP BY labels.value COLLATE NOCASE ORDER BY found DESC, value LIMIT ?
"""
_HAS_FIELD = "SELECT 1 FROM labels JOIN passage_labels ON label = labels.id WHERE field = ? LIMIT 1"
_OF_DOCUMENTS = """
SELECT passages.id FROM documents JOIN passages ON document = documents.id WHERE doc_id IN ({})
"""
_VALUES = """
SELECT value FROM labels JOIN passage_labels ON label = labels.id
WHERE field = ? GROUP BY labels.id ORDER BY count(*) DESC, value LIMIT ?
"""


def labels_of(fields: Metadata) -> set[tuple[str, str]]:
    """The labels by which filters find a passage: names and values of all fields, as text."""
    return {(field, field_text(value)) for field, value in fields.items() if field != LAYOUT}


def add_labels(connection: Database, passage: int, fields: Metadata) -> None:
    """Store the labels of a passage: the fields of its document and its own."""
    for label in sorted(labels_of(fields)):
        connection.execute("INSERT OR IGNORE INTO labels (field, value) VALUES (?, ?)", label)
        connection.execute(
            "INSERT INTO passage_labels (label, passage) "
            "SELECT id, ? FROM labels WHERE field = ? AND value = ?",
            (passage, *label),
        )


def field_kinds(connection: Database) -> dict[str, str]:
    """The fields, each ``text`` or ``number``."""
    kinds = {}
    for name in connection.column(_FIELDS):
        values = connection.column(_SOME, name, _SAMPLE)
        numbers = all(parse_number(value) is not None for value in values)
        kinds[name] = "number" if numbers else "text"
    return kinds


def values_of(connection: Database, field: str, limit: int | None) -> list[FieldValue]:
    """The most frequent values of a field; see `Store.field_values`."""
    most = -1 if limit is None else limit
    found = [FieldValue(*row) for row in connection.execute(_COUNTED, (field, most))]
    if not found and field not in (names := connection.column(_FIELDS)):
        raise unknown_field(Condition(field, "eq", ()), names, connection.folder)
    return found


def admitted_rows(connection: Database, condition: Condition, ids: IntArray) -> IntArray:
    """Rows of the passages that a condition admits, given the ids of passages, ascending.

    Raises an `InputError` if no passage has such a field, or it has no values that the condition
    could compare.
    """
    found: list[int] = []
    if condition.field == DOCUMENT_ID:
        for some in _batches(condition.values):
            found += connection.column(_OF_DOCUMENTS.format(_marks(some)), *some)
    elif not connection.row(_HAS_FIELD, condition.field):
        raise unknown_field(condition, connection.column(_FIELDS), connection.folder)
    else:
        labels = _matching(connection, condition)
        if values := missing(condition, [value for _, value in labels]):
            frequent = connection.column(_VALUES, condition.field, _FREQUENT)
            tell_absent(condition, values, frequent, connection.folder)
        for some in _batches([label for label, _ in labels]):
            statement = f"SELECT passage FROM passage_labels WHERE label IN ({_marks(some)})"  # noqa: S608
            found += connection.column(statement, *some)
    if condition.field == DOCUMENT_ID and condition.operator != "ne":
        return rows_with(ids, np.array(found, dtype=np.int64))
    return np.flatnonzero(np.isin(ids, found, invert=condition.operator == "ne"))


def _matching(connection: Database, condition: Condition) -> list[tuple[int, str]]:
    """Ids and values of the labels that fit a condition, or that ``ne`` excludes."""
    named: Sequence[str] = ()
    narrowed = ""
    if condition.by_text and len(condition.spellings) <= MOST_NAMED:
        named = condition.spellings
        narrowed = f" AND value COLLATE NOCASE IN ({_marks(named)})"
    rows = connection.execute(_LABELS + narrowed, (condition.field, *named))
    matches = matcher(condition)
    found = []
    for label, value in rows:
        checkpoint()
        if matches(value):
            found.append((label, value))
    return found


def _batches(values: Sequence[Any]) -> list[Sequence[Any]]:
    return [values[start : start + MOST_NAMED] for start in range(0, len(values), MOST_NAMED)]


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))
