"""Finding what in a store is not as it was written, and repairing it.

What is damaged leaves the store; what can be made from the rest is made again.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import orjson

from slice_os.errors import StoreError
from slice_os.stores.local.arrays import (
    Arrays,
    PassageTable,
    present_generations,
    read_table,
    rows_within,
    select_table,
)
from slice_os.stores.local.checksums import (
    checked_row,
    damaged_passages,
    damaged_rows,
    damaged_sources,
    data_checksum,
    seal,
    sources_checksum,
    stored_rows,
)
from slice_os.stores.local.fields import add_labels, labels_of
from slice_os.stores.local.files import (
    DATABASE,
    SOURCES,
    Database,
    StoreSettings,
    StoreState,
    damaged_state,
    errors_explained,
    read_state,
    seal_state,
    transaction,
    used_counts,
)
from slice_os.stores.local.terms import PASSAGE_TERMS, add_terms, passage_terms

MOST_PROBLEMS = 20
_DOCUMENT_OF = """
SELECT doc_id, documents.id FROM passages JOIN documents ON documents.id = document
WHERE passages.id = ?
"""
_CONTENT_OF = """
SELECT text, start, "end", documents.metadata, passages.metadata
FROM passages JOIN documents ON documents.id = document WHERE passages.id = ?
"""
_LABELS_OF = """
SELECT field, value FROM passage_labels JOIN labels ON label = labels.id WHERE passage = ?
"""
_REBUILT = (
    "DELETE FROM passages WHERE document NOT IN (SELECT id FROM documents)",
    "UPDATE sources SET signature = ''",
    "DROP TABLE passage_terms",
    PASSAGE_TERMS,
    "DELETE FROM passage_labels",
    "DELETE FROM labels",
)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something in a store that is not as it was written, with the file and the row in it.

    If a document is lost, and has to be ingested again, its id and its row in the database are
    known.
    """

    where: str
    problem: str
    document: str | None = None
    row: int | None = None


def find_faults(connection: Database, settings: StoreSettings) -> Iterator[Fault]:
    """Compare everything in a store with its checksums, its counts, and its other parts.

    The connection is a writer's, in a transaction that may be rolled back. After a fault that
    makes the database unreadable there are no more.
    """
    try:
        yield from _database_faults(connection)
        try:
            state = read_state(connection)
        except StoreError:
            yield Fault(f"{DATABASE}, settings", "a count is missing or no number")
            state = _recounted(connection, settings)
        else:
            if damaged_state(connection):
                yield Fault(f"{DATABASE}, settings", "the counts are not as they were written")
                state = replace(state, generation=_generation(connection, settings))
        table = select_table(connection)
        yield from _count_faults(connection, state, table)
        yield from _array_faults(connection, state, table, settings)
        for row in connection.column("SELECT id FROM documents"):
            yield from _document_faults(connection, row)
        # Last, since a note that is no number ends the comparison.
        if damaged_sources(connection):
            yield Fault(f"{DATABASE}, sources", "not as they were written")
    except (sqlite3.DatabaseError, StoreError, ValueError, TypeError) as error:
        yield Fault(DATABASE, " ".join(str(error).split()))


def _database_faults(connection: Database) -> Iterator[Fault]:
    for problem in connection.column(f"PRAGMA integrity_check({MOST_PROBLEMS})"):
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
        (lacking,) = connection.row(statement)
        if lacking:
            yield Fault(f"{DATABASE}, passages", f"{lacking} passages without {named}")


def _count_faults(connection: Database, state: StoreState, table: PassageTable) -> Iterator[Fault]:
    used = used_counts(connection)
    for name, stored in (("documents", state.documents), ("passages", state.passages)):
        if used[name] != stored:
            yield Fault(f"{DATABASE}, {name}", f"has {used[name]} of {stored} rows")
    if not rows_within(table, state.words, state.pieces).all():
        counts = f"{state.words} words and {state.pieces} pieces"
        yield Fault(f"{DATABASE}, settings", f"passages lie outside of {counts}")


def _array_faults(
    connection: Database, state: StoreState, table: PassageTable, settings: StoreSettings
) -> Iterator[Fault]:
    arrays = Arrays(connection.folder, settings.encoder, state.generation)
    wanted = {"words": state.words, "pieces": state.pieces}
    for name, files in (("words", arrays.by_word), ("pieces", arrays.by_piece)):
        for file in files:
            if file.rows() < wanted[name]:
                yield Fault(file.path.name, f"has {file.rows()} of {wanted[name]} rows")
    for key, where in _lost(arrays, table):
        doc_id, row = connection.row(_DOCUMENT_OF, key) or (None, None)
        yield Fault(where, "not as they were written", _name(doc_id), row)


def _lost(arrays: Arrays, table: PassageTable) -> Iterator[tuple[int, str]]:
    """Passages whose rows are not in the files, or differ from their checksums, and where."""
    words, pieces = (
        min(file.rows() for file in files) for files in (arrays.by_word, arrays.by_piece)
    )
    inside = rows_within(table, words, pieces)
    yield from ((int(key), f"passage {key}") for key in table.ids[~inside])
    arrays.open(words, pieces)
    table = table[np.flatnonzero(inside)]
    yield from ((key, damaged_rows(table, arrays, key)) for key in damaged_passages(table, arrays))


def _name(doc_id: Any) -> str | None:
    """The id of a document; where a bit is flipped, it may be stored as bytes."""
    return doc_id.decode(errors="replace") if isinstance(doc_id, bytes) else doc_id


def _document_faults(connection: Database, row: int) -> Iterator[Fault]:
    document = checked_row(connection, "documents", row)
    doc_id = _name(*(connection.row("SELECT doc_id FROM documents WHERE id = ?", row) or (None,)))
    if document is None:
        yield Fault(f"{DATABASE}, documents, row {row}", "not as it was written", doc_id, row)
        return
    fields = orjson.loads(document[-1])
    for key in connection.column("SELECT id FROM passages WHERE document = ?", row):
        passage = checked_row(connection, "passages", key)
        where = f"{DATABASE}, passages, row {key}"
        if passage is None:
            yield Fault(where, "not as it was written", doc_id, row)
            return
        labels = set(connection.execute(_LABELS_OF, (key,)))
        if labels != labels_of(fields | orjson.loads(passage[5])):
            yield Fault(f"{DATABASE}, labels", f"those of passage {key} are not its metadata")


def repair(connection: Database, settings: StoreSettings, faults: Iterable[Fault]) -> None:
    """Delete the documents that faults name; rebuild counts, indexes, terms and labels.

    The next ingest reads every source again, and stores the deleted documents. The connection is
    a writer's, not in a transaction.

    Raises a `StoreError` if faults remain; the store is then as it was.
    """
    folder = connection.folder
    lost = {fault.row for fault in faults if fault.row is not None}
    try:
        with errors_explained(folder), transaction(connection):
            connection.execute("REINDEX")
            connection.executemany("DELETE FROM documents WHERE id = ?", ((row,) for row in lost))
            for statement in _REBUILT:
                connection.execute(statement)
            state = _restore_counts(connection, settings)
            _derive(connection, state, Arrays(folder, settings.encoder, state.generation))
            remaining = next(find_faults(connection, settings), None)
            if remaining is not None:
                raise StoreError(f"{remaining.where}: {remaining.problem}")
    except (StoreError, ValueError, TypeError) as error:
        reason = " ".join(str(error.__cause__ or error).split())
        raise StoreError(
            f"{folder}: cannot be repaired, ingest again into a new store ({reason})"
        ) from None


def _recounted(connection: Database, settings: StoreSettings) -> StoreState:
    revision = secrets.randbits(62)  # no reader must take the state for one that it knows
    generation = _generation(connection, settings)
    return StoreState(revision, generation, **used_counts(connection))


def _generation(connection: Database, settings: StoreSettings) -> int:
    """The generation whose files have the most passages as they were written.

    Of several, the stored one, or else the newest.
    """
    folder, table = connection.folder, select_table(connection)
    stored = connection.row("SELECT value FROM settings WHERE name = 'generation'")

    def faults(generation: int) -> tuple[int, bool]:
        arrays = Arrays(folder, settings.encoder, generation)
        lost = sum(1 for _ in _lost(arrays, table))
        return lost, stored is None or stored[0] != str(generation)

    return min(present_generations(folder), key=faults, default=0)


def _restore_counts(connection: Database, settings: StoreSettings) -> StoreState:
    values = {
        **asdict(_recounted(connection, settings)),
        SOURCES: str(sources_checksum(connection)),
    }
    connection.executemany("INSERT OR REPLACE INTO settings VALUES (?, ?)", values.items())
    seal_state(connection)
    return read_state(connection)


def _derive(connection: Database, state: StoreState, arrays: Arrays) -> None:
    table = read_table(connection, state)
    for row, key in enumerate(table.ids.tolist()):
        text, start, end, fields, own = connection.row(_CONTENT_OF, key)
        found = passage_terms(text[start:end], orjson.loads(own), start)
        rows = [part.data for part in stored_rows(table[row : row + 1], arrays)]
        data = data_checksum(key, int(table.n_terms[row]), rows)
        # A new checksum would hide that they are not as they were written.
        if data != table.checksum[row] or checked_row(connection, "passages", key) is None:
            raise StoreError(f"passage {key} is not as it was written")
        data = data_checksum(key, len(found), rows)
        statement = "UPDATE passages SET n_terms = ?, data_checksum = ? WHERE id = ?"
        connection.execute(statement, (len(found), data, key))
        seal(connection, "passages", key)
        add_terms(connection, key, found)
        add_labels(connection, key, orjson.loads(fields) | orjson.loads(own))
