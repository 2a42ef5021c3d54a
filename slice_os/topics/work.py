"""The work folder of a store: topics, labels, and seen hits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from slice_os.labels.label import Label
from slice_os.topics.folder import TopicsFolder
from slice_os.topics.journal import LabelJournal
from slice_os.topics.topic import Topic


@dataclass(frozen=True, slots=True)
class Work:
    """The folder of a store's topics, labels and seen hits; it need not exist."""

    folder: Path

    @classmethod
    def of(cls, store_folder: Path | None, chosen: Path | None = None) -> Work:
        """The chosen folder, or that of a local store; for other stores the current one."""
        return cls((chosen or store_folder or Path()).resolve())

    @property
    def topics(self) -> Path:
        """The folder of topic files."""
        return self.folder / "topics"

    @property
    def labels_file(self) -> Path:
        """The file of labels."""
        return self.folder / "labels.jsonl"

    @property
    def seen(self) -> Path:
        """The file of the hits that earlier runs found."""
        return self.folder / "topics-seen.txt"

    def known_topics(self) -> list[Topic]:
        """The topics, by name, without those whose file cannot be used."""
        return [stored.topic for stored in TopicsFolder(self.topics).read()[0]]

    def labels(self) -> list[Label]:
        """The labels that hold; none without a file.

        Raises an `InputError` if a line is no label, or the file is a pipe or a device.
        """
        return [entry.label for entry in LabelJournal(self.labels_file).read()]
