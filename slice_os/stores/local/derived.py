"""What the database keeps of passages to find them by: terms for BM25, and labels for filters."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from slice_os.text.documents import Metadata, field_text
from slice_os.text.passage_layout import LAYOUT


def add_terms(connection: sqlite3.Connection, passage: int, found: Sequence[str]) -> None:
    """Store the terms of a passage."""
    connection.execute(
        "INSERT INTO passage_terms (rowid, text) VALUES (?, ?)", (passage, " ".join(found))
    )


def labels_of(fields: Metadata) -> set[tuple[str, str]]:
    """The labels by which filters find a passage: names and values as text.

    Args:
        fields: of its document and its own.
    """
    return {(field, field_text(value)) for field, value in fields.items() if field != LAYOUT}


def add_labels(connection: sqlite3.Connection, passage: int, fields: Metadata) -> None:
    """Store the labels of a passage: the fields of its document and its own."""
    for label in sorted(labels_of(fields)):
        connection.execute("INSERT OR IGNORE INTO labels (field, value) VALUES (?, ?)", label)
        connection.execute(
            "INSERT INTO passage_labels (label, passage) "
            "SELECT id, ? FROM labels WHERE field = ? AND value = ?",
            (passage, *label),
        )
