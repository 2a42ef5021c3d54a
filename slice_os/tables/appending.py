"""Files that several processes add lines to, each addition complete or not there at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

from slice_os.tables.replacing import make_folder, sync_folder, waited_lock
from slice_os.threads import uninterrupted


@contextmanager
def appending(path: Path) -> Iterator[FileIO]:
    """A file to append to, alone; a missing one is made, with its folder."""
    make_folder(path.parent)
    with waited_lock(Path(f"{path}.lock")), uninterrupted(), FileIO(path, "a+") as file:
        yield file


def append(file: FileIO, lines: bytes) -> None:
    """Write all of the lines to the disk, or none of them."""
    began = file.seek(0, os.SEEK_END)
    left = memoryview(lines)
    try:
        while left:
            left = left[file.write(left) or 0 :]
        os.fsync(file.fileno())
        if not began:
            sync_folder(Path(os.fsdecode(file.name)).parent)
    except OSError:
        file.truncate(began)
        raise


def contents(file: FileIO) -> bytes:
    """All that is in a file."""
    file.seek(0)
    return file.read()
