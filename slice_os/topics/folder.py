"""A folder of topics that several people change at the same time."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from slice_os.errors import InputError
from slice_os.tables.replacing import make_folder, replacing, sync_folder, waited_lock
from slice_os.threads import checkpoint, uninterrupted
from slice_os.topics.files import (
    files_in,
    gives_name,
    parse_topic,
    parse_written,
    topic_content,
    with_learned,
    with_name,
    with_topic,
)
from slice_os.topics.topic import Learned, Topic

MOST_TOPICS, MOST_PHRASES, MOST_BYTES = 1_000, 20_000, 32 << 20
"""Topics of a folder, all of their phrases, and the size of their files: all of them are read for
each answer, and none is added to more."""

_LOCK = ".lock"


class NoSuchTopicError(InputError):
    """A folder has no topic of that name."""


class TopicExistsError(InputError):
    """A folder has a topic of that name already."""


class TopicChangedError(InputError):
    """A topic has changed since the caller read it."""


@dataclass(frozen=True, slots=True)
class StoredTopic:
    """A topic in a folder; its ``etag`` differs for every content of the file."""

    topic: Topic
    etag: str
    path: Path


class TopicsFolder:
    """Topic files, each read, written and deleted as a whole.

    A change names the ``etag`` of the topic that it replaces, None for any, and is refused by a
    `TopicChangedError` if another thread or process has changed the topic since, so that nobody's
    work is lost. The folder need not exist before the first topic is added.

    Methods raise a `NoSuchTopicError` if there is no topic of a name, and an `InputError` if a file
    cannot hold a topic, or cannot be written.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._parsed: dict[Path, tuple[str, Topic | None, list[str], list[str]]] = {}

    def read(self) -> tuple[list[StoredTopic], list[str]]:
        """The topics by name, and one line for each file with a fault."""
        found: dict[str, StoredTopic] = {}
        problems, parsed = [], {}
        for path in files_in(self.folder):
            try:
                content = topic_content(path)
            except FileNotFoundError:
                if path.is_symlink():
                    continue
                return self.read()  # somebody has just deleted or renamed it
            except OSError as error:
                problems.append(f"{self._place(path)}: {error.strerror}")
                continue
            etag = _etag(content)
            known = self._parsed.get(path)
            if known is None or known[0] != etag:
                checkpoint()
                known = etag, *parse_written(content, path.stem)
            parsed[path] = known
            topic, wrong, changed = known[1], list(known[2]), known[3]
            if topic is not None and not wrong and topic.name in found:
                other = self._place(found[topic.name].path)
                wrong.append(f"{other} also has topic {topic.name!r}")
            if topic is None or wrong:
                problems.append(f"{self._place(path)}: {wrong[0]}")
            else:
                problems += [f"{self._place(path)}: {told}" for told in changed]
                found[topic.name] = StoredTopic(topic, etag, path)
        self._parsed = parsed
        return sorted(found.values(), key=lambda stored: stored.topic.name), problems

    def get(self, name: str) -> StoredTopic:
        """A topic by its name."""
        if stored := self._find(name):
            return stored
        raise NoSuchTopicError(f"no topic {name!r}; add it first")

    def add(self, topic: Topic) -> StoredTopic:
        """Store a new topic, in a file of its name; a `TopicExistsError` if there is one."""
        content = _content(topic)
        with self._locked():
            path = self.folder / f"{topic.name}.toml"
            self._check_room(topic, content, topic.name)
            if path.exists() or self._find(topic.name):
                raise TopicExistsError(f"topic {topic.name!r} exists; replace it, naming its etag")
            return _written(topic, content, path)

    def replace(self, topic: Topic, etag: str | None) -> StoredTopic:
        """Replace the topic of that name; its file stays as it is if it says the same already."""
        _content(topic)
        with self._locked():
            stored = self._unchanged(topic.name, etag)
            content = _content(topic, stored.path.read_bytes())
            self._check_room(topic, content, topic.name)
            return stored if stored.topic == topic else _written(topic, content, stored.path)

    def write_learned(self, name: str, learned: Learned, etag: str | None) -> StoredTopic:
        """Replace what a topic has learned; all else in its file stays, comments included.

        Raises an `InputError` if that table of the file cannot be replaced alone.
        """
        with self._locked():
            stored = self._unchanged(name, etag)
            text = stored.path.read_bytes().decode("utf-8")
            topic = dataclasses.replace(stored.topic, learned=learned)
            return _written(topic, with_learned(text, learned).encode(), stored.path)

    def rename(
        self,
        name: str,
        new: str,
        etag: str | None = None,
        topic: Topic | None = None,
        begin: Callable[[], object] = lambda: None,
    ) -> StoredTopic:
        """Give a topic another name, and its file if that has the former one; comments stay.

        Args:
            name: the present name.
            new: the new one.
            etag: of the present topic.
            topic: of the new name, to replace it at the same time.
            begin: called before anything changes, once nothing is wrong.

        Raises:
            InputError: if the name cannot be used, or replaced in the file alone, or if another
                topic combines this one by its name.
            TopicExistsError: if there is one of the new name.
        """
        with self._locked():
            stored = self._unchanged(name, etag)
            for other in self.read()[0]:
                if other.topic.combination and name in other.topic.combination.topics:
                    told = f"{other.topic.name!r} combines it by this name; change that first"
                    raise InputError(f"topic {name!r}: {told}")
            before = stored.path.read_bytes()
            content = with_name(before.decode("utf-8"), new).encode()
            if topic is not None:
                content = _content(topic)
                self._check_room(topic, content, name)
            elif stored.path.stem == name and not gives_name(before):
                content = before  # its file alone gives the name
            named, problems = parse_topic(content, new)
            if named is None or problems:
                raise InputError(f"topic {name!r}: {problems[0]}")
            if self._find(new) or (stored.path.stem == name and _place(stored.path, new).exists()):
                raise TopicExistsError(f"topic {new!r} exists; choose another name")
            begin()
            if content != before:
                _written(named, content, stored.path)
            return _named(StoredTopic(named, _etag(content), stored.path), name)

    def name_file(self, name: str, former: str) -> StoredTopic:
        """Name the file of a topic after it if it has the former name."""
        with self._locked():
            return _named(self.get(name), former)

    def delete(self, name: str, etag: str | None) -> None:
        """Delete a topic and its file."""
        with self._locked():
            path = self._unchanged(name, etag).path
            path.unlink()
            sync_folder(path.parent)

    def _check_room(self, topic: Topic, content: bytes, former: str) -> None:
        """Refuse a topic, by an InputError, if it is one too many, or too much with the others.

        It replaces the one of the former name.
        """
        others = [one for one in self.read()[0] if one.topic.name != former]
        phrases = sum(len(one.all_phrases) for one in (topic, *(one.topic for one in others)))
        size = len(content) + sum(one.path.stat().st_size for one in others)
        if len(others) >= MOST_TOPICS or phrases > MOST_PHRASES or size > MOST_BYTES:
            raise InputError(
                f"{self.folder}: has {len(others):,} topics and would have {phrases:,} phrases and "
                f"{size >> 20} MiB; it takes {MOST_TOPICS:,}, {MOST_PHRASES:,} and "
                f"{MOST_BYTES >> 20} MiB: delete some first"
            )

    def _find(self, name: str) -> StoredTopic | None:
        return next((stored for stored in self.read()[0] if stored.topic.name == name), None)

    def _unchanged(self, name: str, etag: str | None) -> StoredTopic:
        stored = self.get(name)
        if etag not in (None, stored.etag):
            raise TopicChangedError(
                f"topic {name!r} has changed since you read it; read it again, then change that"
            )
        return stored

    def _place(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            make_folder(self.folder)
            with waited_lock(self.folder / _LOCK), uninterrupted():
                yield
        except OSError as error:
            raise InputError(f"{self.folder}: cannot be written ({error.strerror})") from None


def _content(topic: Topic, before: bytes = b"") -> bytes:
    """The content of a topic's file, which would be read as the same topic."""
    content = with_topic(before.decode("utf-8"), topic).encode()
    same, problems = parse_topic(content, topic.name)
    if problems:
        raise InputError(f"topic {topic.name!r}: {problems[0]}")
    if same != topic:
        raise InputError(f"topic {topic.name!r}: cannot be kept in a file as it is")
    return content


def _written(topic: Topic, content: bytes, path: Path) -> StoredTopic:
    with replacing(path) as part:
        part.write_bytes(content)
    return StoredTopic(topic, _etag(content), path)


def _named(stored: StoredTopic, former: str) -> StoredTopic:
    """A topic once its file has its name, if that has the former one and no other file has it."""
    place = _place(stored.path, stored.topic.name)
    if stored.path.stem != former or place.exists():
        return stored
    stored.path.rename(place)
    sync_folder(place.parent)
    return dataclasses.replace(stored, path=place)


def _place(path: Path, name: str) -> Path:
    """The file of a topic in the folder of another one."""
    return path.with_name(f"{name}.toml")


def _etag(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
