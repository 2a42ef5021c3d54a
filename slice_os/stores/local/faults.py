"""Finding what in a store is not as it was written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson

from slice_os.errors import StoreError
from slice_os.stores.local.arrays import DATABASE, Arrays
from slice_os.stores.local.checksums import checked_row, damaged_passages, damaged_rows
from slice_os.stores.local.fields import labels_of
from slice_os.stores.local.files import StoreSettings, StoreState, read_state
from slice_os.stores.local.table import PassageTable, rows_within, select_table

MOST_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class Fault:
    """Something in a store that is not as it was written.

    Attributes:
        where: the file, and the row in it.
        problem: what is wrong.
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

    Args:
        connection: a writer's, in a transaction that may be rolled back.
        folder: the store's.
        settings: what the store was made with.

    Yields:
        The faults; after one that makes the database unreadable there are no more.
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
    for table, column, text in (
        ("passage_terms_content", "id", "passages without terms"),
        ("documents", "id", "passages without a document"),
    ):
        owner = "document" if table == "documents" else "id"
        (lacking,) = connection.execute(
            f"SELECT count(*) FROM passages WHERE {owner} NOT IN "  # noqa: S608
            f"(SELECT {column} FROM {table})"
        ).fetchone()
        if lacking:
            yield Fault(f"{DATABASE}, passages", f"{lacking} {text}")


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
    """Files that are too short, and passages whose rows are missing or changed."""
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
    """Faults of a document's text, passages and labels."""
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
