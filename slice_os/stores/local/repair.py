"""Repairing a store: what is damaged leaves it, what can be made from the rest is made again."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from pathlib import Path

import orjson

from slice_os.errors import StoreError
from slice_os.stores.local.arrays import Arrays, newest_generation
from slice_os.stores.local.checksums import data_checksum, seal, stored_rows
from slice_os.stores.local.faults import Fault, find_faults
from slice_os.stores.local.fields import add_labels
from slice_os.stores.local.files import (
    StoreSettings,
    StoreState,
    errors_explained,
    read_state,
    transaction,
)
from slice_os.stores.local.table import read_table
from slice_os.stores.local.terms import PASSAGE_TERMS, add_terms, terms


def repair(
    connection: sqlite3.Connection,
    folder: Path,
    settings: StoreSettings,
    faults: Iterable[Fault],
) -> None:
    """Delete the documents that faults name, and rebuild counts, indexes, terms and labels.

    The next ingest reads every source again, and stores the deleted documents.

    Args:
        connection: a writer's, not in a transaction.
        folder: the store's.
        settings: what the store was made with.
        faults: what `find_faults` found.

    Raises:
        StoreError: if faults remain; the store is then as it was.
    """
    lost = {fault.row for fault in faults if fault.row is not None}
    try:
        with errors_explained(folder), transaction(connection):
            connection.execute("REINDEX")
            connection.executemany("DELETE FROM documents WHERE id = ?", ((row,) for row in lost))
            connection.execute(
                "DELETE FROM passages WHERE document NOT IN (SELECT id FROM documents)"
            )
            connection.execute("UPDATE sources SET signature = ''")
            state = _restore_counts(connection, folder)
            _derive(connection, state, Arrays(folder, settings.encoder, state.generation))
            remaining = next(find_faults(connection, folder, settings), None)
            if remaining is not None:
                raise StoreError(f"{remaining.where}: {remaining.problem}")
    except (StoreError, ValueError, TypeError) as error:
        reason = " ".join(str(error.__cause__ or error).split())
        raise StoreError(
            f"{folder}: cannot be repaired, ingest again into a new store ({reason})"
        ) from None


def _restore_counts(connection: sqlite3.Connection, folder: Path) -> StoreState:
    """Set the counts to those of the rows; returns the state that results."""
    for name, count in (
        ("documents", "SELECT count(*) FROM documents"),
        ("passages", "SELECT count(*) FROM passages"),
        ("words", "SELECT ifnull(max(first_word + n_words), 0) FROM passages"),
        ("pieces", "SELECT ifnull(max(first_piece + n_pieces), 0) FROM passages"),
        ("generation", f"SELECT {newest_generation(folder)}"),
        # No reader must take the state for one that it knows.
        ("revision", "SELECT abs(random() / 2)"),
    ):
        connection.execute(f"INSERT OR REPLACE INTO settings VALUES ('{name}', ({count}))")  # noqa: S608
    return read_state(connection, folder)


def _derive(connection: sqlite3.Connection, state: StoreState, arrays: Arrays) -> None:
    """Store terms and labels from scratch, by the texts and metadata."""
    for statement in (
        "DROP TABLE passage_terms",
        PASSAGE_TERMS,
        "DELETE FROM passage_labels",
        "DELETE FROM labels",
    ):
        connection.execute(statement)
    table = read_table(connection, state)
    for row, key in enumerate(table.ids.tolist()):
        document, start, end, metadata = connection.execute(
            'SELECT document, start, "end", metadata FROM passages WHERE id = ?', (key,)
        ).fetchone()
        text, fields = connection.execute(
            "SELECT text, metadata FROM documents WHERE id = ?", (document,)
        ).fetchone()
        found = terms(text[start:end])
        data = data_checksum(key, len(found), stored_rows(table, arrays, row))
        connection.execute(
            "UPDATE passages SET n_terms = ?, data_checksum = ? WHERE id = ?",
            (len(found), data, key),
        )
        seal(connection, "passages", key)
        add_terms(connection, key, found)
        add_labels(connection, key, orjson.loads(fields) | orjson.loads(metadata))
