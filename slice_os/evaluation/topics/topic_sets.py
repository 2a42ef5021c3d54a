"""Texts with one topic or none, in a training and a test part: published sets and your own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from slice_os.datasets.files import DataSource
from slice_os.errors import InputError
from slice_os.labels.label import folded
from slice_os.topics.topic import Topic

TRAIN, TEST = "train", "test"

BANKING77 = DataSource(
    "a table with columns text and category",
    "https://github.com/PolyAI-LDN/task-specific-datasets, banking_data",
)
BITEXT = DataSource(
    "a table with columns utterance and intent",
    "https://github.com/bitext/customer-support-intent-detection-training-dataset",
)
CLINC150 = DataSource(
    "lists of pairs under train, oos_train, test and oos_test",
    "https://github.com/clinc/oos-eval, data/data_full.json",
)
OWN = DataSource(
    "JSON lines with text, topic (null for none) and part (train or test), or the folder of "
    "Banking77, CLINC150 or the support intents of Bitext"
)


@dataclass(frozen=True, slots=True)
class TopicText:
    """A text and its topic; None if it has none of the set's."""

    text: str
    topic: str | None


@dataclass(frozen=True, slots=True)
class TopicSet:
    """A set of topics, and the documents of the test part to find them in.

    Phrases of topics are from the training part, at even distances; ``labelled`` are further texts
    of it, for labels. ``files`` are what it was read from, the training part first; one file may
    hold both.
    """

    name: str
    topics: tuple[Topic, ...]
    labelled: tuple[TopicText, ...]
    documents: tuple[TopicText, ...]
    files: tuple[Path, ...]


def read_topic_set(path: Path, n_phrases: int, n_labelled: int) -> TopicSet:
    """Read a set from the folder of a published one, or from a file of JSON lines.

    Of each topic, so many phrases and further texts are kept, and texts without a topic.
    """
    if not path.exists():
        raise OWN.missing(path)
    for file, read in _FOLDERS.items():
        if path.is_dir() and (path / file).is_file():
            try:
                files, train, test = read(path)
                break
            except InputError:
                continue
    else:
        if path.is_dir():
            raise OWN.malformed(path, "holds none of the sets")
        files, train, test = _read_own(path)
    by_topic: dict[str | None, list[str]] = defaultdict(list)
    tested = {folded(one.text) for one in test}
    for one in train:
        # A text in both parts would be found by its own words.
        if folded(one.text) not in tested:
            by_topic[one.topic].append(one.text)
    names = [topic for topic in by_topic if topic is not None]
    for topic in names:
        if len(by_topic[topic]) < n_phrases:
            raise OWN.malformed(path, f"topic {topic!r} has fewer than {n_phrases} training texts")
    if len(names) < 2:
        raise OWN.malformed(path, "has fewer than two topics")
    chosen = {topic: _spread(by_topic[topic], n_phrases) for topic in names}
    labelled = tuple(
        TopicText(text, topic)
        for topic, texts in by_topic.items()
        for text in [one for one in texts if one not in chosen.get(topic or "", ())][:n_labelled]
    )
    documents = tuple(one for one in test if one.topic is None or one.topic in chosen)
    if not documents:
        raise OWN.malformed(path, "has no text of its topics, or of none, in its test part")
    topics = tuple(Topic(topic, chosen[topic]) for topic in names)
    return TopicSet(path.name.split(".")[0], topics, labelled, documents, files)


def _spread(texts: Sequence[str], number: int) -> tuple[str, ...]:
    """Texts at even distances: neighbours are often alike."""
    return tuple(texts[place * len(texts) // number] for place in range(number))


Parts = tuple[tuple[Path, ...], Sequence[TopicText], Sequence[TopicText]]


def _read_table(source: DataSource, text: str, topic: str, folder: Path) -> Parts:
    files = folder / "train.csv", folder / "test.csv"
    train, test = (
        [TopicText(row.text(text), row.text(topic)) for row in source.table(file, [text, topic])]
        for file in files
    )
    return files, train, test


def _read_clinc150(folder: Path) -> Parts:
    file = folder / "data_full.json"
    content = CLINC150.json(file)

    def pairs(part: str) -> Iterator[TopicText]:
        for name, outside in ((part, False), (f"oos_{part}", True)):
            for text, topic in content[name]:
                if not (isinstance(text, str) and isinstance(topic, str)):
                    raise TypeError
                yield TopicText(text, None if outside else topic)

    try:
        return (file,), list(pairs(TRAIN)), list(pairs(TEST))
    except (KeyError, TypeError, ValueError):
        raise CLINC150.malformed(file, "is something else") from None


def _read_own(file: Path) -> Parts:
    parts: dict[str, list[TopicText]] = {TRAIN: [], TEST: []}
    for row in OWN.json_lines(file):
        part = row.values.get("part")
        if part not in parts:
            raise row.malformed(f"'part' is {part!r:.40}")
        topic = None if row.values.get("topic") is None else row.text("topic")
        parts[part].append(TopicText(row.text("text"), topic))
    return (file,), parts[TRAIN], parts[TEST]


_FOLDERS: dict[str, Callable[[Path], Parts]] = {
    "data_full.json": _read_clinc150,
    "train.csv": partial(_read_table, BANKING77, "text", "category"),
    "dev.csv": partial(_read_table, BITEXT, "utterance", "intent"),
}
