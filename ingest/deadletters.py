"""A file of the records that could not be used, so that nothing is lost."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
from contextlib import ExitStack
from dataclasses import asdict, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, BinaryIO

from slice_os.errors import InputError
from slice_os.ingest.readers import BadRecord
from slice_os.ingest.readers.reader import shortened

LONGEST_FIELD = 12_000
_FIELDS = ("source", "line", "reason", "record")
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class DeadLetters:
    """Appends bad records to a file of JSON lines, created for the first record.

    Each line is an object with ``source``, ``line``, ``reason``, ``record`` and ``time`` (ISO
    8601, UTC), and no text in it is longer than `LONGEST_FIELD` characters and a note. It is
    appended in one step, so that several processes on one machine can share the file. A record
    that the file already has is not written again.

    Attributes:
        path: a new file is for its owner alone.
        count: records given so far.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self._stream: BinaryIO | None = None
        self._kept: set[bytes] = set()
        self._close = ExitStack()

    def write(self, record: BadRecord) -> None:
        """Append a record, unless the file has it; an InputError if that is impossible."""
        texts: dict[str, Any] = {
            name: shortened(getattr(record, name), LONGEST_FIELD)
            for name in ("source", "reason", "record")
        }
        record = replace(record, **texts)
        try:
            if self._stream is None:
                self._stream = self._open()
            digest = _digest(asdict(record))
            if digest not in self._kept:
                line = _line(record)
                while line:  # what has no room is not written, without an error
                    line = line[self._stream.write(line) :]
                self._kept.add(digest)
        except OSError as error:
            link = error.errno == errno.ELOOP
            reason = "it is a link" if link else error.strerror or error
            raise InputError(
                f"{self.path}: cannot write dead letters ({reason}); choose another file"
            ) from None
        self.count += 1

    def __enter__(self) -> DeadLetters:
        return self

    def __exit__(self, *error: object) -> None:
        self._close.close()
        self._stream = None

    def _open(self) -> BinaryIO:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | _NO_LINKS
        descriptor = os.open(self.path, flags, 0o600)
        regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        stream = os.fdopen(descriptor, "r+b" if regular else "wb", buffering=0)
        self._close.enter_context(stream)
        if regular:
            self._read(stream)
        return stream

    def _read(self, stream: BinaryIO) -> None:
        """Learn which records the file has, and end a line that was not written to its end."""
        last = b"\n"
        with open(os.dup(stream.fileno()), "rb") as lines:  # noqa: PTH123
            for last in lines:
                try:
                    # orjson would refuse lone surrogates.
                    self._kept.add(_digest(json.loads(last)))
                except (ValueError, KeyError, TypeError, RecursionError):
                    continue
        if not last.endswith(b"\n"):
            stream.write(b"\n")


def _line(record: BadRecord) -> bytes:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    line = json.dumps({**asdict(record), "time": now}, ensure_ascii=False)
    # A lone surrogate is written as \udXXX, which JSON reads back unchanged.
    return f"{line}\n".encode("utf-8", "backslashreplace")


def _digest(fields: dict[str, object]) -> bytes:
    content = json.dumps([fields[name] for name in _FIELDS])
    return hashlib.sha256(content.encode()).digest()[:16]
