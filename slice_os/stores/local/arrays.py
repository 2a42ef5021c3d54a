"""Append-only arrays in files, memory-mapped for reading."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from slice_os.errors import StoreError


class ArrayFile:
    """Rows of one type, in a file that only grows.

    Args:
        path: the file; created when the first rows are appended.
        dtype: type of the numbers.
        columns: numbers per row, or 0 for a one-dimensional array.
    """

    def __init__(self, path: Path, dtype: npt.DTypeLike, columns: int = 0) -> None:
        self.path = path
        self._dtype = np.dtype(dtype)
        self._shape = (columns,) if columns else ()
        self._row_bytes = self._dtype.itemsize * max(columns, 1)
        self._view: np.ndarray[Any, np.dtype[Any]] = np.empty((0, *self._shape), self._dtype)
        self._stream: Any = None

    def append(self, rows: npt.NDArray[Any]) -> None:
        """Add rows at the end."""
        if self._stream is None:
            self._stream = self.path.open("ab")
        self._stream.write(np.ascontiguousarray(rows, dtype=self._dtype).data)

    def sync(self) -> None:
        """Flush what was appended to the disk."""
        if self._stream is not None:
            self._stream.flush()
            os.fsync(self._stream.fileno())

    def truncate(self, rows: int) -> None:
        """Keep only the first ``rows`` rows.

        Raises:
            StoreError: if the file is shorter than that.
        """
        self.close()
        self._check(rows)
        if self.path.exists():
            os.truncate(self.path, rows * self._row_bytes)

    def view(self, rows: int) -> np.ndarray[Any, np.dtype[Any]]:
        """The first ``rows`` rows, mapped into memory.

        Raises:
            StoreError: if the file is shorter than that.
        """
        if rows > len(self._view):
            self._check(rows)
            mapped = np.memmap(self.path, self._dtype, "r", shape=(rows, *self._shape))
            self._view = mapped.view(np.ndarray)
        return self._view[:rows]

    def close(self) -> None:
        """Flush and close the file for appending."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def _check(self, rows: int) -> None:
        have = self.path.stat().st_size if self.path.exists() else 0
        if have < rows * self._row_bytes:
            raise StoreError(
                f"{self.path}: has {have} bytes instead of {rows * self._row_bytes}; "
                "the store is damaged, ingest again into a new one"
            )
