"""Where each passage's words and pieces are in the array files."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np

from slice_os.arrays import IntArray
from slice_os.stores.local.files import StoreState, damage


@dataclass(frozen=True, slots=True)
class PassageTable:
    """Where each passage's words and pieces are in the files; rows in stored order.

    Attributes:
        ids: passage ids.
        first_word: first row in the files by word.
        n_words: number of rows there.
        first_piece: first row in the files by piece.
        n_pieces: number of rows there.
        n_terms: number of terms that BM25 counts.
        checksum: see `data_checksum`; zeros in stores of schema version 2, which have none.
    """

    ids: IntArray
    first_word: IntArray
    n_words: IntArray
    first_piece: IntArray
    n_pieces: IntArray
    n_terms: IntArray
    checksum: IntArray

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, rows: slice | IntArray) -> PassageTable:
        return PassageTable(*(getattr(self, field.name)[rows] for field in fields(self)))

    def chunks(self, pieces: int) -> Iterator[slice]:
        """Consecutive rows of about that many pieces each."""
        number = np.cumsum(self.n_pieces) // pieces
        edges = np.flatnonzero(np.diff(number)) + 1
        return itertools.starmap(slice, itertools.pairwise([0, *edges.tolist(), len(self)]))


def read_table(connection: sqlite3.Connection, state: StoreState) -> PassageTable:
    """All passages of a store.

    Raises:
        StoreError: if they are not as many as were stored, or lie beyond the files' rows.
    """
    checksum = "data_checksum" if state.has_checksums else "0"
    rows = connection.execute(
        "SELECT id, first_word, n_words, first_piece, n_pieces, n_terms, "  # noqa: S608
        f"{checksum} FROM passages ORDER BY id"
    ).fetchall()
    try:
        columns = np.array(rows, dtype=np.int64).reshape(-1, 7).T
    except (TypeError, ValueError, OverflowError):
        raise damage(state.folder, "the table of passages holds something else") from None
    table = PassageTable(*np.ascontiguousarray(columns))
    if state.passages not in (None, len(table)):
        raise damage(state.folder, f"has {len(table)} of {state.passages} passages")
    for name, first, count, most in (
        ("word", table.first_word, table.n_words, state.words),
        ("piece", table.first_piece, table.n_pieces, state.pieces),
    ):
        wrong = (first < 0) | (count < 1) | (first > most - count)
        if wrong.any():
            key = int(table.ids[wrong][0])
            raise damage(state.folder, f"the {name}s of passage {key} are beyond the {most} stored")
    if len(table) and (table.n_terms.min() < 0 or (np.diff(table.ids) <= 0).any()):
        raise damage(state.folder, "the table of passages holds something else")
    return table


def rows_of(first: IntArray, counts: IntArray) -> slice | IntArray:
    """The rows of several runs: a slice if the runs are adjacent, otherwise an index."""
    if np.array_equal(first[1:], (first + counts)[:-1]):
        return slice(int(first[0]), int(first[-1] + counts[-1]))
    offsets = np.repeat(first - (np.cumsum(counts) - counts), counts)
    return offsets + np.arange(int(counts.sum()))
