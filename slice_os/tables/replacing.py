"""Files that appear only when they are complete."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path beside a file to write to, which replaces the file at the end.

    A missing folder is made. After an error or Ctrl-C nothing is left of the file, and an earlier
    one stays as it was.
    """
    path = path.resolve()  # what a link points to is replaced, not the link
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{token_hex(8)}{path.suffix}")
    try:
        yield part
        if path.exists():
            part.chmod(path.stat().st_mode)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
