"""Compaction: the vectors of deleted documents leave the files, and so do their terms."""

from __future__ import annotations

import numpy as np

from slice_os.stores.local.arrays import Arrays, PassageTable, file_rows, read_table, rows_of
from slice_os.stores.local.files import (
    Database,
    StoreSettings,
    errors_explained,
    read_state,
    seal_state,
    transaction,
)

# Share of deleted token vectors beyond which a writer compacts the store when it ends: copying
# the rest then costs at most three times as much as writing the deleted ones did.
DEAD_SHARE = 0.25
COPIED_PIECES = 65_536
CHECKPOINT_SECONDS = 2


def compact(connection: Database, settings: StoreSettings) -> None:
    """Write the array files again without the rows of deleted passages, and shrink the database.

    Readers go on with the files that they have open. If it is interrupted, the store is as before
    or as after; the next writer deletes the files that are not needed. The connection is the
    writer's, not in a transaction.

    Raises a `StoreError` if the store is damaged, or the disk is too full for a second copy.
    """
    folder = connection.folder
    with errors_explained(folder):
        with transaction(connection):
            state = read_state(connection)
            table = read_table(connection, state)
            former = Arrays(folder, settings.encoder, state.generation)
            former.open(state.words, state.pieces)
            former.delete_others()
            arrays = Arrays(folder, settings.encoder, state.generation + 1)
            _copy(table, former, arrays)
            firsts = ((np.cumsum(n) - n).tolist() for n in (table.n_words, table.n_pieces))
            connection.executemany(
                "UPDATE passages SET first_word = ?, first_piece = ? WHERE id = ?",
                zip(*firsts, table.ids.tolist(), strict=True),
            )
            connection.executemany(
                "UPDATE settings SET value = ? WHERE name = ?",
                [
                    (str(state.generation + 1), "generation"),
                    (str(state.revision + 1), "revision"),
                    (str(table.n_words.sum()), "words"),
                    (str(table.n_pieces.sum()), "pieces"),
                ],
            )
            seal_state(connection)
            connection.execute(
                "DELETE FROM labels WHERE id NOT IN (SELECT label FROM passage_labels)"
            )
            # FTS5 keeps deleted terms until it merges the parts of its index.
            connection.execute("INSERT INTO passage_terms (passage_terms) VALUES ('optimize')")
        arrays.delete_others()
        connection.execute("VACUUM")
        connection.execute(f"PRAGMA busy_timeout = {CHECKPOINT_SECONDS * 1000}")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _copy(table: PassageTable, source: Arrays, target: Arrays) -> None:
    try:
        for chunk in table.chunks(COPIED_PIECES):
            rows = table[chunk]
            if not len(rows):
                continue
            files = zip(target.files, file_rows(rows, source), strict=True)
            for file, (former, first, ends) in files:
                file.append(former.view(int(ends.max()))[rows_of(first, ends - first)])
        target.sync()
        target.close()
    except BaseException:
        source.delete_others()
        raise
