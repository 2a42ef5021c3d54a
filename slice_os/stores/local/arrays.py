"""Append-only arrays in files, memory-mapped for reading, and the rows of each passage in them."""

from __future__ import annotations

import itertools
import os
import weakref
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from slice_os.arrays import IntArray
from slice_os.encoder.model_folder import ModelCard
from slice_os.errors import StoreError
from slice_os.stores.local.files import DATABASE, Database, StoreState, damage
from slice_os.tables.replacing import sync_folder


class ArrayFile:
    """Rows of one type, in a file that only grows; made when the first rows are appended.

    Once a row has been read, the file stays open, so that it can be read even after it has been
    deleted. Without columns, the array has one dimension.
    """

    def __init__(self, path: Path, dtype: npt.DTypeLike, columns: int = 0) -> None:
        self.path = path
        self.row_bytes = np.dtype(dtype).itemsize * max(columns, 1)
        self._dtype = np.dtype(dtype)
        self._shape = (columns,) if columns else ()
        self._view: np.ndarray[Any, np.dtype[Any]] = np.empty((0, *self._shape), self._dtype)
        self._appending: BinaryIO | None = None
        self._reading: BinaryIO | None = None

    def rows(self) -> int:
        """Number of whole rows in the file; 0 if there is none."""
        return self._size() // self.row_bytes

    def append(self, rows: npt.NDArray[Any]) -> None:
        """Add rows at the end."""
        if self._appending is None:
            self._appending = open(self.path, "ab", opener=_open_like_database)  # noqa: SIM115
        self._appending.write(np.ascontiguousarray(rows, dtype=self._dtype).data)

    def sync(self) -> None:
        """Flush what was appended to the disk."""
        if self._appending is not None:
            self._appending.flush()
            os.fsync(self._appending.fileno())

    def truncate(self, rows: int) -> None:
        """Keep only the first ``rows`` rows.

        Raises a `StoreError` if the file is shorter than that.
        """
        self.close()
        self._check(self._size(), rows)
        if self.path.exists():
            os.truncate(self.path, rows * self.row_bytes)

    def view(self, rows: int) -> np.ndarray[Any, np.dtype[Any]]:
        """The first ``rows`` rows, mapped into memory.

        Raises a `StoreError` if the file is shorter than that.
        """
        if rows > len(self._view):
            if self._reading is None:
                self._check(self._size(), rows)
                self._reading = self.path.open("rb")
                weakref.finalize(self, self._reading.close)
            self._check(os.fstat(self._reading.fileno()).st_size, rows)
            mapped = np.memmap(self._reading, self._dtype, "r", shape=(rows, *self._shape))
            self._view = mapped.view(np.ndarray)
        return self._view[:rows]

    def close(self) -> None:
        """Flush and close the file for appending."""
        if self._appending is not None:
            self._appending.close()
            self._appending = None

    def _size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def _check(self, have: int, rows: int) -> None:
        if have < rows * self.row_bytes:
            raise StoreError(
                f"{self.path}: has {have} bytes instead of {rows * self.row_bytes}; the store is "
                f"damaged, run `slice-os store check --repair --store {self.path.parent}`"
            )


class Arrays:
    """The vector files: token vectors, their scales, words and span norms.

    A word is a row of start and end code point in the document, first piece in the passage and
    one past the last. Its norms are those of the spans that begin with it. The generation is how
    often the files have been written from scratch.

    Attributes:
        by_piece: the files with one row per token vector.
        by_word: the files with one row per word.
        files: all of them.
    """

    def __init__(self, folder: Path, encoder: ModelCard, generation: int) -> None:
        def path(stem: str, suffix: str) -> Path:
            return folder / (f"{stem}-{generation}.{suffix}" if generation else f"{stem}.{suffix}")

        self.generation = generation
        self._named = False
        vectors = ArrayFile(path("vectors", "i8"), np.int8, encoder.dimension)
        scales = ArrayFile(path("scales", "f32"), np.float32)
        words = ArrayFile(path("words", "u32"), np.uint32, 4)
        norms = ArrayFile(path("norms", "f32"), np.float32, encoder.max_words)
        self.by_piece, self.by_word = (vectors, scales), (words, norms)
        self.files = vectors, scales, words, norms

    def truncate(self, words: int, pieces: int) -> None:
        """Remove the rows that no passage refers to, left by an interrupted writer."""
        for file, rows in self._sizes(words, pieces):
            file.truncate(rows)

    def open(self, words: int, pieces: int) -> None:
        """Map that many rows, so that they can be read even after the files were deleted.

        Raises a `StoreError` if a file is missing or shorter than that.
        """
        for file, rows in self._sizes(words, pieces):
            file.view(rows)

    def sync(self) -> None:
        """Flush everything appended to the disk, and once the names of the files."""
        for file in self.files:
            file.sync()
        if not self._named:
            sync_folder(self.files[0].path.parent)
            self._named = True

    def close(self) -> None:
        """Close the files for appending."""
        for file in self.files:
            file.close()

    def _sizes(self, words: int, pieces: int) -> Iterable[tuple[ArrayFile, int]]:
        return zip(self.files, (pieces, pieces, words, words), strict=True)

    def delete_others(self) -> None:
        """Delete the files of other generations; processes that have them open can go on."""
        own = {file.path for file in self.files}
        for file in self.files:
            stem = file.path.name.partition(".")[0].partition("-")[0]
            for path in file.path.parent.glob(f"{stem}*{file.path.suffix}"):
                if path not in own:
                    # Windows keeps files that a reader has open; the next writer deletes them.
                    with suppress(PermissionError):
                        path.unlink()


def present_generations(folder: Path) -> list[int]:
    """The generations of which there are array files in a folder, the newest first."""
    names = (path.stem.partition("-")[2] or "0" for path in folder.glob("vectors*.i8"))
    return sorted((int(name) for name in names if name.isdecimal()), reverse=True)


def _open_like_database(path: str, flags: int) -> int:
    """Open a file; a new one may be read by those who may read the database."""
    return os.open(path, flags, (Path(path).parent / DATABASE).stat().st_mode & 0o666)


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


def rows_with(ids: IntArray, wanted: IntArray) -> IntArray:
    """The rows of the wanted ids, given ascending ids of passages."""
    if not len(wanted):
        return wanted
    # The passages of one document are neighbours, perhaps among millions.
    first, last = np.searchsorted(ids, [wanted.min(), wanted.max() + 1])
    rows: IntArray = first + np.flatnonzero(np.isin(ids[first:last], wanted))
    return rows


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
