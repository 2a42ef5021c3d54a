"""Keeps the records that could not be used, so that nothing is lost."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from slice_os.errors import InputError
from slice_os.ingest.readers import BadRecord


class DeadLetters:
    """Appends bad records to a file of JSON lines, created for the first record.

    Each line is an object with ``source``, ``line``, ``reason``, ``record`` and ``time`` (ISO
    8601, UTC). It is appended at once, in one step, so that several processes on one machine can
    share the file.

    Attributes:
        path: the file.
        count: records written so far.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.count = 0
        self._stream: BinaryIO | None = None
        self._close = ExitStack()

    def write(self, record: BadRecord) -> None:
        """Append a record.

        Raises:
            InputError: if the file cannot be written.
        """
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        line = json.dumps({**asdict(record), "time": now}, ensure_ascii=False)
        try:
            if self._stream is None:
                self._stream = self._close.enter_context(self.path.open("ab", buffering=0))
            # A lone surrogate is written as \udXXX, which JSON reads back unchanged.
            self._stream.write(f"{line}\n".encode("utf-8", "backslashreplace"))
        except OSError as error:
            raise InputError(
                f"{self.path}: cannot write dead letters ({error.strerror or error}); "
                "choose another file"
            ) from None
        self.count += 1

    def __enter__(self) -> DeadLetters:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._close.close()
        self._stream = None
