"""Upgrading stores that earlier versions made."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from slice_os.stores.local.arrays import Arrays
from slice_os.stores.local.checksums import (
    COVERED,
    data_checksum,
    seal,
    stored_rows,
)
from slice_os.stores.local.files import (
    SCHEMA_VERSION,
    StoreSettings,
    errors_explained,
    read_state,
    set_version,
    transaction,
)
from slice_os.stores.local.table import read_table


def upgrade(connection: sqlite3.Connection, folder: Path, settings: StoreSettings) -> None:
    """Bring a store to the present schema version, or leave it as it is.

    Version 3 added checksums and counts of documents and passages. The checksums are those of
    what the store holds now. Readers of version 2 that have it open have to open it again.

    Args:
        connection: a writer's, not in a transaction.
        folder: the store's.
        settings: what the store was made with.

    Raises:
        StoreError: if the store is damaged.
    """
    with errors_explained(folder), transaction(connection):
        # All of them: a damaged index may hide one that is asked for by name.
        values = dict(connection.execute("SELECT name, value FROM settings"))
        if values.get("schema_version") == str(SCHEMA_VERSION):
            return
        for statement in (
            "ALTER TABLE documents ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
            "ALTER TABLE passages ADD COLUMN data_checksum INTEGER NOT NULL DEFAULT 0",
            "ALTER TABLE passages ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0",
            "INSERT OR REPLACE INTO settings VALUES ('generation', '0')",
            "INSERT OR REPLACE INTO settings SELECT 'documents', count(*) FROM documents",
            "INSERT OR REPLACE INTO settings SELECT 'passages', count(*) FROM passages",
            "UPDATE settings SET value = value + 1 WHERE name = 'revision'",
        ):
            connection.execute(statement)
        _add_checksums(connection, folder, settings)
        set_version(connection)


def _add_checksums(connection: sqlite3.Connection, folder: Path, settings: StoreSettings) -> None:
    state = read_state(connection, folder)
    table = read_table(connection, state)
    arrays = Arrays(folder, settings.encoder, 0)
    arrays.open(state.words, state.pieces)
    for row, (key, n_terms) in enumerate(
        zip(table.ids.tolist(), table.n_terms.tolist(), strict=True)
    ):
        data = data_checksum(key, n_terms, stored_rows(table, arrays, row))
        connection.execute("UPDATE passages SET data_checksum = ? WHERE id = ?", (data, key))
    for name in COVERED:
        for (key,) in connection.execute(f"SELECT id FROM {name}").fetchall():  # noqa: S608
            seal(connection, name, key)
