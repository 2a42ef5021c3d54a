"""Files that appear when they are complete or grow by whole lines, locks, and losses of power."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO

from filelock import FileLock, Timeout

from slice_os.threads import checkpoint, uninterrupted

if sys.platform != "win32":
    import fcntl

_PART = re.compile(r"\.[0-9a-f]{16}\.part(\.[^.]*)?")
_STEP_SECONDS = 0.1


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path beside a file to write to, which replaces the file at the end.

    A missing folder is made. After an error or Ctrl-C nothing is left of the file, and an earlier
    one stays as it was. At the end, the file survives a loss of power. What killed processes left
    in the folder is deleted.
    """
    path = path.resolve()  # what a link points to is replaced, not the link
    make_folder(path.parent)
    _clear(path.parent)
    part, claim = _claimed(path)
    try:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        if path.exists():
            part.chmod(path.stat().st_mode)
        if sys.platform == "win32":  # which replaces no file that is open
            claim.close()
        part.replace(path)
        sync_folder(path.parent)
    except BaseException as error:
        claim.close()
        part.unlink(missing_ok=True)
        if isinstance(error, OSError) and not error.filename:  # of a write
            error.filename = str(path)
        raise
    finally:
        claim.close()


def _claimed(path: Path) -> tuple[Path, BinaryIO]:
    """A new file beside another one, which no process deletes while it is open here."""
    while True:
        part = path.with_name(f".{token_hex(8)}.part{path.suffix}")
        try:
            claim = part.open("xb")
        except OSError as error:  # about the file that was asked for, not the one beside it
            raise OSError(error.errno, error.strerror, str(path)) from None
        with suppress(OSError):  # a disk without locks
            _lock(claim, wait=True)
        if os.fstat(claim.fileno()).st_nlink:  # or it was deleted before it was locked
            return part, claim
        claim.close()


def _clear(folder: Path) -> None:
    """Delete the files of processes that were killed before they had replaced another one."""
    with suppress(OSError):  # a folder that may be written, and not read
        for part in [one for one in folder.iterdir() if _PART.fullmatch(one.name)]:
            with suppress(OSError), part.open("rb") as file:  # in use, or gone
                _lock(file, wait=False)
                if sys.platform == "win32":
                    file.close()
                part.unlink()


def _lock(file: BinaryIO, *, wait: bool) -> None:
    """Lock a file while it is open, where that does not keep others from deleting it anyway.

    Raises an `OSError` if it is locked, and the caller does not wait.
    """
    if sys.platform != "win32":
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def make_folder(folder: Path, mode: int = 0o777) -> None:
    """Make a folder that survives a loss of power, with those that it lies in.

    Raises an `OSError` if that is not possible.
    """
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(mode=mode, parents=True, exist_ok=True)
    for one in missing:
        sync_folder(one.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder survive a loss of power, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with suppress(PermissionError):  # a folder that may be written, and not read
        descriptor = os.open(folder, os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def waited_lock(path: Path) -> Iterator[None]:
    """Hold a lock that other threads and processes wait for; there are checkpoints until then."""
    lock = FileLock(path)
    while True:
        try:
            lock.acquire(timeout=_STEP_SECONDS)
            break
        except Timeout:
            checkpoint()
    try:
        yield
    finally:
        lock.release()


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
