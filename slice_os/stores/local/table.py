"""The rows of each passage in the array files."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from slice_os.arrays import IntArray
from slice_os.stores.local.arrays import ArrayFile, Arrays
from slice_os.stores.local.files import Database, StoreState, damage


@dataclass(frozen=True, slots=True)
class PassageTable:
    """The first row and number of rows of each passage in the files by word and by piece.

    Passages are in stored order. BM25 counts ``n_terms``; see `data_checksum` for the checksum.
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


def read_table(connection: Database, state: StoreState) -> PassageTable:
    """All passages of a store.

    Raises a `StoreError` if they are not as many as were stored, or lie beyond the files' rows.
    """
    table, folder = select_table(connection), connection.folder
    if state.passages != len(table):
        raise damage(folder, f"has {len(table)} of {state.passages} passages")
    if (np.diff(table.ids) <= 0).any():
        raise damage(folder, "the passages are not in the order of their ids")
    outside = table.ids[~rows_within(table, state.words, state.pieces)]
    if len(outside):
        there = f"the {state.words} words and {state.pieces} pieces stored"
        raise damage(folder, f"passage {outside[0]} is not in {there}")
    return table


def select_table(connection: Database) -> PassageTable:
    """All passages of a store, without a look at the counts.

    Raises a `StoreError` if a column holds anything but integers.
    """
    rows = connection.execute(
        "SELECT id, first_word, n_words, first_piece, n_pieces, n_terms, data_checksum "
        "FROM passages ORDER BY id"
    ).fetchall()
    try:
        columns = np.array(rows, dtype=np.int64).reshape(-1, 7).T
    except (TypeError, ValueError, OverflowError):
        raise damage(connection.folder, "the table of passages holds something else") from None
    return PassageTable(*np.ascontiguousarray(columns))


def rows_within(table: PassageTable, words: int, pieces: int) -> npt.NDArray[np.bool_]:
    """``(n_passages,)``: which passages lie within that many rows of the files."""
    within = table.n_terms >= 0
    for first, count, most in (
        (table.first_word, table.n_words, words),
        (table.first_piece, table.n_pieces, pieces),
    ):
        within &= (first >= 0) & (count > 0) & (count <= most) & (first <= most - count)
    return within


def file_rows(
    table: PassageTable, arrays: Arrays
) -> Iterator[tuple[ArrayFile, IntArray, IntArray]]:
    """Each of `Arrays.files` with the first row of every passage, and one past the last."""
    for files, first, counts in (
        (arrays.by_piece, table.first_piece, table.n_pieces),
        (arrays.by_word, table.first_word, table.n_words),
    ):
        yield from ((file, first, first + counts) for file in files)


def rows_of(first: IntArray, counts: IntArray) -> slice | IntArray:
    """The rows of several runs: a slice if the runs are adjacent, otherwise an index."""
    if np.array_equal(first[1:], (first + counts)[:-1]):
        return slice(int(first[0]), int(first[-1] + counts[-1]))
    offsets = np.repeat(first - (np.cumsum(counts) - counts), counts)
    return offsets + np.arange(int(counts.sum()))
