"""Checksums of what a store holds, and comparing passages with theirs as they are first read."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from xxhash import xxh3_64_intdigest

from slice_os.stores.local.arrays import Arrays, PassageTable, file_rows
from slice_os.stores.local.files import SOURCES, Database, damage
from slice_os.threads import on_all_cores

CHUNK_PIECES = 65_536

# The columns that the checksum of a row covers; the rows of the array files may move.
COVERED = {
    "documents": "id, doc_id, source, fingerprint, text, metadata",
    "passages": 'id, document, start, "end", n_words, metadata, n_terms, data_checksum',
}


def seal(connection: Database, table: str, key: int) -> None:
    """Note the checksum of a row that was inserted or changed."""
    row = connection.row(f"SELECT {COVERED[table]} FROM {table} WHERE id = ?", key)  # noqa: S608
    statement = f"UPDATE {table} SET checksum = ? WHERE id = ?"  # noqa: S608
    connection.execute(statement, (_row_checksum(row), key))


def checked_row(connection: Database, table: str, key: int) -> tuple[Any, ...] | None:
    """The columns that a row's checksum covers; None if the row is not as it was written."""
    statement = f"SELECT {COVERED[table]}, checksum FROM {table} WHERE id = ?"  # noqa: S608
    row = connection.row(statement, key)
    return row[:-1] if row and row[-1] == _row_checksum(row[:-1]) else None


def sound_row(connection: Database, table: str, key: int) -> tuple[Any, ...]:
    """As `checked_row`, but a `StoreError` if the row is not as it was written."""
    row = checked_row(connection, table, key)
    if row is None:
        raise damage(connection.folder, f"row {key} of the {table} is not as it was written")
    return row


def sound_document(connection: Database, doc_id: str) -> tuple[Any, ...] | None:
    """The columns of a document as `sound_row` gives them; None if it is not there."""
    row = connection.row("SELECT id FROM documents WHERE doc_id = ?", doc_id)
    return row and sound_row(connection, "documents", *row)


def note_source(connection: Database, source: str, signature: str | None) -> None:
    """Note how a source was read, None to forget it, and the checksum of all sources.

    Raises a `StoreError` if the one that was noted before is damaged.
    """
    noted = _noted_sources(connection)
    try:
        total = sources_checksum(connection) if noted is None else int(noted)
    except ValueError:
        raise damage(connection.folder, "its settings lack the checksum of its sources") from None
    found = "SELECT source, signature FROM sources WHERE source = ?"
    if (former := connection.row(found, source)) is not None:
        total -= _row_checksum(former)
    if signature is None:
        connection.execute("DELETE FROM sources WHERE source = ?", (source,))
    else:
        connection.execute("REPLACE INTO sources VALUES (?, ?)", (source, signature))
        total += _row_checksum((source, signature))
    connection.execute("REPLACE INTO settings VALUES (?, ?)", (SOURCES, str(total % (1 << 64))))


def sources_checksum(connection: Database) -> int:
    """The checksum of all sources: the sum of those of their rows."""
    rows = connection.execute("SELECT source, signature FROM sources")
    return sum(map(_row_checksum, rows)) % (1 << 64)


def damaged_sources(connection: Database) -> bool:
    """Whether the sources differ from their checksum; a store may be too old to have one."""
    noted = _noted_sources(connection)
    return noted not in (None, str(sources_checksum(connection)))


def _noted_sources(connection: Database) -> str | None:
    (noted,) = connection.row("SELECT value FROM settings WHERE name = ?", SOURCES) or (None,)
    return None if noted is None else str(noted)


def data_checksum(key: int, n_terms: int, rows: Iterable[memoryview]) -> int:
    """Checksum of a passage: its number of terms, token vectors, scales, words and norms."""
    found = xxh3_64_intdigest(f"{key} {n_terms}".encode())
    for part in rows:
        found = xxh3_64_intdigest(part, found)
    return _signed(found)


def stored_rows(table: PassageTable, arrays: Arrays) -> list[npt.NDArray[Any]]:
    """The token vectors, scales, words and norms of the one passage in a table."""
    return [
        file.view(int(end))[int(first) :] for file, (first,), (end,) in file_rows(table, arrays)
    ]


class CheckedPassages:
    """Compares passages with their checksums, each only when it is first read."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays
        self._lock = threading.Lock()
        self._seen = np.zeros(0, dtype=bool)

    def damaged(self, table: PassageTable) -> int | None:
        """The id of a passage whose rows differ from its checksum; None if all are as written.

        The table must lie within the files.
        """
        seen = self._room(int(table.ids[-1]) + 1) if len(table) else self._seen
        table = table[np.flatnonzero(~seen[table.ids])]
        if not len(table):
            return None

        def check(rows: slice) -> int | None:
            chunk = table[rows]
            wrong = next(damaged_passages(chunk, self._arrays), None)
            if wrong is None:
                seen[chunk.ids] = True
            return wrong

        found = on_all_cores(check, table.chunks(CHUNK_PIECES))
        return next((key for key in found if key is not None), None)

    def _room(self, size: int) -> npt.NDArray[np.bool_]:
        with self._lock:
            if size > len(self._seen):
                grown = np.zeros(max(size, 2 * len(self._seen)), dtype=bool)
                grown[: len(self._seen)] = self._seen
                self._seen = grown
            return self._seen


def damaged_passages(table: PassageTable, arrays: Arrays) -> Iterator[int]:
    """The ids of passages whose rows differ from their checksums."""
    if not len(table):
        return
    # Bytes are cut several times as fast as arrays, and there may be millions of passages.
    files = []
    for file, first, ends in file_rows(table, arrays):
        content, size = file.view(int(ends.max())).data.cast("B"), file.row_bytes
        files.append((content, (first * size).tolist(), (ends * size).tolist()))
    noted = (column.tolist() for column in (table.ids, table.n_terms, table.checksum))
    for row, (key, n_terms, checksum) in enumerate(zip(*noted, strict=True)):
        rows = [content[first[row] : end[row]] for content, first, end in files]
        if data_checksum(key, n_terms, rows) != checksum:
            yield key


def damaged_rows(table: PassageTable, arrays: Arrays, key: int) -> str:
    """The place of a passage's rows, for an error."""
    row = int(np.flatnonzero(table.ids == key)[0])
    piece, word = int(table.first_piece[row]), int(table.first_word[row])
    by_piece = " and ".join(file.path.name for file in arrays.by_piece)
    by_word = " or ".join(file.path.name for file in arrays.by_word)
    return (
        f"rows {piece}-{piece + int(table.n_pieces[row])} of {by_piece}, or rows "
        f"{word}-{word + int(table.n_words[row])} of {by_word} (passage {key}),"
    )


def _row_checksum(values: Iterable[object]) -> int:
    text = "\0".join(f"{type(value).__name__} {value}" for value in values)
    return _signed(xxh3_64_intdigest(text.encode("utf-8", "surrogatepass")))


def _signed(digest: int) -> int:
    """As SQLite stores it."""
    return digest - (1 << 64) if digest >= 1 << 63 else digest
