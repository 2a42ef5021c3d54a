"""Files that appear only when they are complete, and names that survive a loss of power."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path beside a file to write to, which replaces the file at the end.

    A missing folder is made. After an error or Ctrl-C nothing is left of the file, and an earlier
    one stays as it was. At the end, the file survives a loss of power.
    """
    path = path.resolve()  # what a link points to is replaced, not the link
    make_folder(path.parent)
    part = path.with_name(f".{token_hex(8)}{path.suffix}")
    try:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        if path.exists():
            part.chmod(path.stat().st_mode)
        part.replace(path)
        sync_folder(path.parent)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


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
