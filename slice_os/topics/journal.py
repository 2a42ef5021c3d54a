"""A file of labels that several people and programs add to at the same time."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from io import FileIO
from pathlib import Path

import orjson
from filelock import FileLock

from slice_os.errors import InputError
from slice_os.tables.replacing import make_folder, replacing, sync_folder
from slice_os.tables.table import json_object
from slice_os.topics.folder import StoredTopic, TopicsFolder
from slice_os.topics.labels import Answer, Label, holding, read_answers, whole_lines

_LINE = orjson.OPT_APPEND_NEWLINE


class LabelJournal:
    """JSON lines of answers, each on the disk once it is given.

    No line ever changes, unless its topic is renamed. Taking an answer back adds a line, too. The
    file, which `read_labels` reads, need not exist before the first label.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def read(self) -> list[Answer]:
        """The labels that hold, in the order in which they were given; see `read_labels`.

        Raises an `InputError` if a line is no label.
        """
        return holding(self.of_all_readers())

    def of_all_readers(self) -> list[Answer]:
        """Every reader's last answers, in order; see `read_answers`.

        Raises an `InputError` if a line is no label.
        """
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise InputError(f"{self.path}: no labels ({error.strerror})") from None
        return read_answers(whole_lines(content), self.path)

    def add(self, labels: Sequence[Label]) -> None:
        """Add labels, dated now if they have no date; then they survive a loss of power.

        Raises an `InputError` if the file cannot be written; then none is added.
        """
        with self._opened() as file:
            dated = (replace(label, date=label.date or _now()) for label in labels)
            _append(file, b"".join(label.to_json() for label in dated))

    def take_back(self, labels: Iterable[Label]) -> list[Label]:
        """Take back and return the last answers of some readers about some words.

        The labels tell readers and words, and whether these are settled. What a reader answered
        before holds again. Raises an `InputError` if the file cannot be read or written.
        """
        if not self.path.exists():
            return []
        wanted = {(label.reader, label.settled, label.key) for label in labels}
        with self._opened() as file:
            answers = (answer.label for answer in read_answers(_content(file), self.path))
            given = [one for one in answers if (one.reader, one.settled, one.key) in wanted]
            bare = (replace(one, context=None, origin=None, date=_now()) for one in given)
            rows = ({**label.to_row(), "label": None} for label in bare)
            _append(file, b"".join(orjson.dumps(row, option=_LINE) for row in rows))
        return given

    def rename(self, topic: str, name: str) -> int:
        """Give the labels of a topic another name for it; returns how many lines changed.

        Raises an `InputError` if the file cannot be read or written.
        """
        if not self.path.exists():
            return 0
        with self._opened() as file, replacing(self.path) as part, part.open("wb") as renamed:
            changed = 0
            for number, line in enumerate(_content(file).splitlines(keepends=True), 1):
                row = json_object(line, f"{self.path}:{number}") if line.strip() else {}
                if row.get("topic") == topic:
                    changed += 1
                    line = orjson.dumps({**row, "topic": name}, option=_LINE)
                renamed.write(line)
        return changed

    @contextmanager
    def _opened(self) -> Iterator[FileIO]:
        """The file, locked, with its last line ended."""
        try:
            make_folder(self.path.parent)
            with FileLock(f"{self.path}.lock"), FileIO(self.path, "a+") as file:
                _end_last_line(file)
                yield file
        except OSError as error:
            raise InputError(f"{self.path}: labels cannot be added ({error.strerror})") from None


def rename_topic(
    topics: TopicsFolder, labels: LabelJournal, old: str, new: str, etag: str | None = None
) -> tuple[StoredTopic, int]:
    """Rename a topic and its labels, both or neither; returns it, and how many lines changed.

    Raises the errors of `TopicsFolder.rename` and `LabelJournal.rename`.
    """
    labels.of_all_readers()  # a bad line is told before anything has changed
    stored = topics.rename(old, new, etag)
    try:
        return stored, labels.rename(old, new)
    except BaseException:
        topics.rename(new, old, stored.etag)
        raise


def _now() -> str:
    return datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def _append(file: FileIO, lines: bytes) -> None:
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


def _end_last_line(file: FileIO) -> None:
    """Write the missing end of the last line, or cut off what a killed writer left of one."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 1))
    if file.read() in (b"", b"\n"):
        return
    content = _content(file)
    whole = whole_lines(content)
    if whole == content:
        _append(file, b"\n")
    else:
        file.truncate(len(whole))


def _content(file: FileIO) -> bytes:
    file.seek(0)
    return file.read()
