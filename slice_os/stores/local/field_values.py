"""Filtering the passages of a local store by their labels: the values of metadata fields."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from slice_os.arrays import IntArray
from slice_os.query.filters import (
    DOCUMENT_ID,
    Condition,
    absent,
    comparable,
    matcher,
    missing,
    unknown_field,
    without_order,
)

MOST_NAMED = 500

# A label whose documents were all deleted stays in the table of labels.
_FIELDS = """
SELECT DISTINCT field FROM labels
WHERE EXISTS (SELECT 1 FROM passage_labels WHERE label = labels.id)
"""
_HAS_FIELD = "SELECT 1 FROM labels JOIN passage_labels ON label = labels.id WHERE field = ? LIMIT 1"
_LABELS = """
SELECT id, value FROM labels
WHERE field = ? AND EXISTS (SELECT 1 FROM passage_labels WHERE label = labels.id)
"""
_OF_DOCUMENTS = """
SELECT passages.id FROM documents JOIN passages ON document = documents.id WHERE doc_id IN ({})
"""
_VALUES = """
SELECT value FROM labels JOIN passage_labels ON label = labels.id
WHERE field = ? GROUP BY labels.id ORDER BY count(*) DESC, value LIMIT 1000
"""

logger = logging.getLogger("slice_os")


def admitted_rows(
    connection: sqlite3.Connection, condition: Condition, ids: IntArray, folder: Path
) -> IntArray:
    """Rows of the passages that a condition admits.

    Args:
        connection: of the store, in one state.
        condition: on a metadata field.
        ids: ``(n,)`` ids of passages, ascending.
        folder: of the store, for messages.

    Raises:
        InputError: if no passage has such a field, or it has no values that the condition could
            compare.
    """
    if condition.field == DOCUMENT_ID:
        found = _passages_of(connection, condition.values)
        return np.flatnonzero(np.isin(ids, found, invert=condition.operator == "ne"))
    if not _select(connection, _HAS_FIELD, condition.field):
        raise unknown_field(condition, _select(connection, _FIELDS), folder)
    labels = _matching(connection, condition)
    _check_found(connection, condition, [value for _, value in labels], folder)
    labelled: list[int] = []
    for start in range(0, len(labels), MOST_NAMED):
        some = ", ".join(str(label) for label, _ in labels[start : start + MOST_NAMED])
        labelled += _select(
            connection,
            f"SELECT passage FROM passage_labels WHERE label IN ({some})",  # noqa: S608
        )
    return np.flatnonzero(np.isin(ids, labelled, invert=condition.operator == "ne"))


def _passages_of(connection: sqlite3.Connection, doc_ids: Sequence[str]) -> list[int]:
    """Ids of the passages of documents."""
    found: list[int] = []
    for start in range(0, len(doc_ids), MOST_NAMED):
        some = doc_ids[start : start + MOST_NAMED]
        found += _select(
            connection,
            _OF_DOCUMENTS.format(", ".join("?" * len(some))),
            *some,
        )
    return found


def _matching(connection: sqlite3.Connection, condition: Condition) -> list[tuple[int, str]]:
    """Ids and values of the labels that fit a condition, or that ``ne`` excludes."""
    named: Sequence[str] = ()
    narrowed = ""
    if condition.by_text and len(condition.spellings) <= MOST_NAMED:
        named = condition.spellings
        narrowed = f" AND value COLLATE NOCASE IN ({', '.join('?' * len(named))})"
    rows = connection.execute(_LABELS + narrowed, (condition.field, *named))
    matches = matcher(condition)
    return [(label, value) for label, value in rows if matches(value)]


def _check_found(
    connection: sqlite3.Connection, condition: Condition, found: Sequence[str], folder: Path
) -> None:
    """Say which values do not occur; refuse an ordering of what has no order."""
    values = missing(condition, found)
    if not values:
        return
    frequent = _select(connection, _VALUES, condition.field)
    if condition.ordering and not comparable(frequent):
        raise without_order(condition, frequent, folder)
    logger.warning("%s: %s", folder, absent(condition, values, frequent))


def _select(connection: sqlite3.Connection, statement: str, *values: str) -> list[Any]:
    """The one column of what a statement selects."""
    return [value for (value,) in connection.execute(statement, values)]
