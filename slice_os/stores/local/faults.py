"""Finding what in a store is not as it was written, and repairing it.

What is damaged leaves the store; what can be made from the rest is made again.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson

from slice_os.errors import StoreError
from slice_os.stores.local.arrays import DATABASE, Arrays, newest_generation
from slice_os.stores.local.checksums import (
    checked_row,
    damaged_passages,
    damaged_rows,
    data_checksum,
    seal,
    stored_rows,
)
from slice_os.stores.local.fields import add_labels, labels_of
from slice_os.stores.local.files import (
    StoreSettings,
    StoreState,
    errors_explained,
    read_state,
    transaction,
)
from slice_os.stores.local.table import PassageTable, read_table, rows_within, select_table
from slice_os.stores.local.terms import PASSAGE_TERMS, add_terms, terms

MOST_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class Fault:
    """Something in a store that is not as it was written.

    Attributes:
        where: the file, and the row in it.
        document: id of the document, which has to be ingested again; None if no document is lost.
        row: of the document in the database; None if no document is lost.
    """

    where: str
    problem: str
    document: str | None = None
    row: int | None = None


def find_faults(
    connection: sqlite3.Connection, folder: Path, settings: StoreSettings
) -> Iterator[Fault]:
    """Compare everything in a store with its checksums, its counts, and its other parts.

    The connection is a writer's, in a transaction that may be rolled back. After a fault that
    makes the database unreadable there are no more.
    """
    try:
        yield from _database_faults(connection)
        try:
            state = read_state(connection, folder)
        except StoreError:
            yield Fault(f"{DATABASE}, settings", "a count is missing or no number")
            return
        table = select_table(connection, state)
        yield from _count_faults(connection, state, table)
        yield from _array_faults(connection, state, table, settings)
        for (row,) in connection.execute("SELECT id FROM documents").fetchall():
            yield from _document_faults(connection, row)
    except (sqlite3.DatabaseError, StoreError, ValueError, TypeError) as error:
        yield Fault(DATABASE, " ".join(str(error).split()))


def _database_faults(connection: sqlite3.Connection) -> Iterator[Fault]:
    for (problem,) in connection.execute(f"PRAGMA integrity_check({MOST_PROBLEMS})").fetchall():
        if problem != "ok":
            yield Fault(DATABASE, " ".join(problem.split()))
    try:
        connection.execute("INSERT INTO passage_terms (passage_terms) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        yield Fault(f"{DATABASE}, terms", f"not those of the passages: {error}")
    for column, table, named in (
        ("id", "passage_terms_content", "terms"),
        ("document", "documents", "a document"),
    ):
        statement = f"SELECT count(*) FROM passages WHERE {column} NOT IN (SELECT id FROM {table})"  # noqa: S608
        (lacking,) = connection.execute(statement).fetchone()
        if lacking:
            yield Fault(f"{DATABASE}, passages", f"{lacking} passages without {named}")


def _count_faults(
    connection: sqlite3.Connection, state: StoreState, table: PassageTable
) -> Iterator[Fault]:
    (documents,) = connection.execute("SELECT count(*) FROM documents").fetchone()
    for name, found, stored in (
        ("documents", documents, state.documents),
        ("passages", len(table), state.passages),
    ):
        if found != stored:
            yield Fault(f"{DATABASE}, {name}", f"has {found} of {stored} rows")
    if not rows_within(table, state.words, state.pieces).all():
        counts = f"{state.words} words and {state.pieces} pieces"
        yield Fault(f"{DATABASE}, settings", f"passages lie outside of {counts}")


def _array_faults(
    connection: sqlite3.Connection, state: StoreState, table: PassageTable, settings: StoreSettings
) -> Iterator[Fault]:
    arrays = Arrays(state.folder, settings.encoder, state.generation)
    rows = {"words": state.words, "pieces": state.pieces}
    for name, files in (("words", arrays.by_word), ("pieces", arrays.by_piece)):
        for file in files:
            if file.rows() < rows[name]:
                yield Fault(file.path.name, f"has {file.rows()} of {rows[name]} rows")
        rows[name] = min(file.rows() for file in files)
    inside = rows_within(table, rows["words"], rows["pieces"])
    lost = [(int(key), f"passage {key}") for key in table.ids[~inside]]
    arrays.open(rows["words"], rows["pieces"])
    table = table[np.flatnonzero(inside)]
    lost += [(key, damaged_rows(table, arrays, key)) for key in damaged_passages(table, arrays)]
    for key, where in lost:
        found = connection.execute(
            "SELECT documents.id, doc_id FROM passages JOIN documents "
            "ON documents.id = document WHERE passages.id = ?",
            (key,),
        ).fetchone()
        row, doc_id = found or (None, None)
        yield Fault(where, "not as they were written", doc_id, row)


def _document_faults(connection: sqlite3.Connection, row: int) -> Iterator[Fault]:
    document = checked_row(connection, "documents", row)
    found = connection.execute("SELECT doc_id FROM documents WHERE id = ?", (row,)).fetchone()
    doc_id = found[0] if found else None
    if document is None:
        yield Fault(f"{DATABASE}, documents, row {row}", "not as it was written", doc_id, row)
        return
    fields = orjson.loads(document[-1])
    for (key,) in connection.execute("SELECT id FROM passages WHERE document = ?", (row,)):
        passage = checked_row(connection, "passages", key)
        where = f"{DATABASE}, passages, row {key}"
        if passage is None:
            yield Fault(where, "not as it was written", doc_id, row)
            return
        wanted = labels_of(fields | orjson.loads(passage[5]))
        labels = connection.execute(
            "SELECT field, value FROM passage_labels JOIN labels ON label = labels.id "
            "WHERE passage = ?",
            (key,),
        )
        if set(labels) != wanted:
            yield Fault(f"{DATABASE}, labels", f"those of passage {key} are not its metadata")


def repair(
    connection: sqlite3.Connection, folder: Path, settings: StoreSettings, faults: Iterable[Fault]
) -> None:
    """Delete the documents that faults name; rebuild counts, indexes, terms and labels.

    The next ingest reads every source again, and stores the deleted documents. The connection is
    a writer's, not in a transaction.

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
        rows = (part.data for part in stored_rows(table, arrays, row))
        data = data_checksum(key, len(found), rows)
        connection.execute(
            "UPDATE passages SET n_terms = ?, data_checksum = ? WHERE id = ?",
            (len(found), data, key),
        )
        seal(connection, "passages", key)
        add_terms(connection, key, found)
        add_labels(connection, key, orjson.loads(fields) | orjson.loads(metadata))
