"""A file of labels that several people and programs add to at the same time."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from io import FileIO
from pathlib import Path
from typing import Any

from slice_os.errors import InputError
from slice_os.hits.run_record import now
from slice_os.labels.label import (
    BEGUN,
    DONE,
    RENAME,
    SAMPLE,
    STATE,
    UNDONE,
    Label,
    LabelEntry,
    LabelLines,
    holding,
    read_answers,
    sealed,
    whole_lines,
)
from slice_os.tables.replacing import append, appending, contents
from slice_os.threads import checkpoint, uninterrupted
from slice_os.topics.folder import NoSuchTopicError, StoredTopic, TopicsFolder
from slice_os.topics.topic import Topic

MOST_LINES, MOST_BYTES = 100_000, 128 << 20
"""Of a file of labels, to which no more are added: all of it is read for each answer."""


class LabelJournal:
    """JSON lines of answers, each on the disk once it is given.

    No line ever changes: taking an answer back, and renaming a topic, add lines, too. The file,
    which `read_labels` reads, need not exist before the first label. It is read again once it has
    changed.

    Methods raise an `InputError` if a line is no label, the file cannot be read or written, or it
    would be larger than one may be; then nothing is added.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._known: tuple[tuple[int, int, int], LabelLines] | None = None

    def read(self) -> list[LabelEntry]:
        """The labels that hold, in the order in which they were given; see `read_labels`."""
        return holding(self.of_all_readers())

    def of_all_readers(self) -> list[LabelEntry]:
        """Every reader's last answers, in order; see `read_answers`."""
        return self._lines().answers()

    def renaming(self) -> dict[str, str]:
        """The former names of topics whose renaming was interrupted, by their new ones."""
        return self._lines().renaming

    def samples(self) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """The samples to estimate topics, the latest last; see `slice_os.estimates.sampling`."""
        return self._lines().samples

    def add_sample(self, topic: str, drawn: Mapping[str, Any]) -> None:
        """Keep what was drawn."""
        self._add([{"topic": topic, SAMPLE: drawn, "date": now()}])

    def add(self, labels: Sequence[Label]) -> None:
        """Add labels, dated now if they have no date; then they survive a loss of power."""
        self._add([replace(one, date=one.date or now()).to_row() for one in labels])

    def take_back(self, labels: Iterable[Label]) -> list[Label]:
        """Take back and return the last answers of some readers about some words.

        The labels tell readers and words, and whether these are settled. What a reader answered
        before holds again.
        """
        if not self.path.exists():
            return []
        wanted = {(label.reader, label.settled, label.key) for label in labels}
        with self._opened() as file:
            answers = (answer.label for answer in read_answers(contents(file), self.path))
            given = [one for one in answers if (one.reader, one.settled, one.key) in wanted]
            bare = (replace(one, passage=None, origin=None, date=now()) for one in given)
            rows = ({**label.to_row(), "label": None} for label in bare)
            append(file, b"".join(map(sealed, rows)))
        return given

    def rename(self, topic: str, name: str, state: str = DONE) -> int:
        """Note that a topic gets another name, with its labels; returns how many there are.

        From when that is ``begun`` until it is ``done``, or ``undone``, its labels have both names.
        """
        if not self.path.exists():
            return 0
        with self._opened() as file:
            given = LabelLines.of(contents(file), self.path).given
            row = {"topic": topic, RENAME: name, STATE: state, "date": now()}
            append(file, sealed(row))
        return sum(len(answers) for (*_, words), answers in given.items() if words[0] == topic)

    def _add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        lines = b"".join(map(sealed, rows))
        with self._opened() as file:
            before = contents(file)
            # A file of something else, such as one that a link leads to, gets no label.
            LabelLines.of(before[: before.find(b"\n") + 1], self.path)
            count, size = before.count(b"\n"), len(before)
            if count + len(rows) > MOST_LINES or size + len(lines) > MOST_BYTES:
                raise InputError(
                    f"{self.path}: has {count:,} lines and {size >> 20} MiB, and takes "
                    f"{MOST_LINES:,} and {MOST_BYTES >> 20} MiB; move it away to begin another one"
                )
            append(file, lines)

    def _lines(self) -> LabelLines:
        try:
            found = self.path.stat()
            self._check(found)
            state = found.st_ino, found.st_size, found.st_mtime_ns
            if self._known is None or self._known[0] != state:
                lines = LabelLines.of(whole_lines(self.path.read_bytes()), self.path)
                self._known = state, lines
            return self._known[1]
        except FileNotFoundError:
            return LabelLines()
        except OSError as error:
            raise InputError(f"{self.path}: no labels ({error.strerror})") from None

    def _check(self, found: os.stat_result) -> None:
        """Refuse a pipe or a device, whose end may never come."""
        if not stat.S_ISREG(found.st_mode):
            raise InputError(f"{self.path}: no file; move it away to begin one")

    @contextmanager
    def _opened(self) -> Iterator[FileIO]:
        """The file, locked, with its last line ended."""
        try:
            with appending(self.path) as file:
                self._check(os.fstat(file.fileno()))
                _end_last_line(file)
                yield file
        except OSError as error:
            raise InputError(f"{self.path}: labels cannot be added ({error.strerror})") from None


def rename_topic(
    topics: TopicsFolder,
    labels: LabelJournal,
    old: str,
    new: str,
    etag: str | None = None,
    topic: Topic | None = None,
) -> tuple[StoredTopic, int]:
    """Rename a topic and its labels, both or neither; returns it, and how many labels it has.

    Until both are done, the labels have both names. So whatever interrupts it, none is lost, and
    the same call completes it. Arguments and errors are those of `TopicsFolder.rename`.
    """
    checkpoint()
    with uninterrupted():
        begun = labels.renaming().get(new) == old  # a bad line is told before anything has changed
        try:
            stored = topics.rename(old, new, etag, topic, lambda: labels.rename(old, new, BEGUN))
        except NoSuchTopicError:
            files = [one.path.stem for one in topics.read()[0] if one.topic.name == new]
            if not files or not (begun or files == [old]):
                raise
            stored = topics.name_file(new, old)
        except BaseException:
            if labels.renaming().get(new) == old:
                there = any(one.topic.name == old for one in topics.read()[0])
                labels.rename(old, new, UNDONE if there else DONE)
            raise
        return stored, labels.rename(old, new)


def _end_last_line(file: FileIO) -> None:
    """Write the missing end of the last line, or cut off what a killed writer left of one."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 1))
    if file.read() in (b"", b"\n"):
        return
    content = contents(file)
    whole = whole_lines(content)
    if whole == content:
        append(file, b"\n")
    else:
        file.truncate(len(whole))
