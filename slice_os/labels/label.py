"""Labels: people's answers on whether hits are right, one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import orjson
from xxhash import xxh3_64_hexdigest

from slice_os.errors import InputError
from slice_os.hits.hit import Context, Hit
from slice_os.hits.labelled import TABLES, labelled_rows
from slice_os.records import FILLED, decode, known, record
from slice_os.tables.table import json_object
from slice_os.text.documents import Extent
from slice_os.threads import checkpoint

# The beginning of every line of `sealed`.
_BEGIN = b'{"topic":'
_CHECKSUM = "checksum"
SPEAKER = "speaker"
SAMPLE = "sample"
"""Field of a line with the passages that were drawn to estimate a topic."""
RENAME, STATE = "rename", "state"
"""Fields of a line about a topic's other name: it has begun, is done, or was undone."""
BEGUN, DONE, UNDONE = "begun", "done", "undone"

# Fields of a label that a line names alike.
_PLAIN = ("topic", "text", "doc_id", "start", "end", "reader", "settled", "date", "origin")

Place: TypeAlias = tuple[str, int, int]
"""The document of a span, its first code point, and one past the last."""

LabelKey: TypeAlias = tuple[str, str, int, int, str]
"""The words that a label is about: topic, document, first code point, one past the last, text."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of the hit that a label is about.

    Attributes:
        model: name of the encoder.
        model_hash: its id.
        store: folder or address.
        version: of SLICE-OS.
        threshold: the least cosine that the topic needed; None if it needed a probability.
        min_probability: likewise.
    """

    model: str
    model_hash: str
    store: str
    version: str
    threshold: float | None = None
    min_probability: float | None = None


@dataclass(frozen=True, slots=True)
class Label:
    """Whether some words are a hit of a topic; two are equal whenever and wherever given.

    Attributes:
        topic: its name.
        right: whether they are a hit.
        text: the words.
        doc_id: their document; empty if unknown.
        start: first code point in the document.
        end: one past the last.
        passage: the one around them, if known; they are then encoded in it.
        reader: name of who says so; empty if unknown.
        settled: whether it ends a disagreement of readers.
        date: when it was given, in UTC, as in 2026-11-23T16:00:00Z; empty if unknown.
        origin: what found the hit, if known.
        speaker: who says the words; empty if unknown.
    """

    topic: Annotated[str, FILLED]
    text: Annotated[str, FILLED]
    right: bool
    doc_id: str = ""
    start: int = 0
    end: int = 0
    passage: Context | None = None
    reader: str = ""
    settled: bool = False
    date: str = field(default="", compare=False)
    origin: Origin | None = field(default=None, compare=False)
    speaker: str = field(default="", compare=False)

    @property
    def key(self) -> LabelKey:
        """The words that it is about."""
        return self.topic, self.doc_id, self.start, self.end, self.text

    @property
    def place(self) -> Place:
        """The key of the place of its words."""
        return self.doc_id, self.start, self.end

    @classmethod
    def of(cls, hit: Hit, right: bool, reader: str = "", origin: Origin | None = None) -> Label:
        """A label of the span of a hit of a topic."""
        span = hit.span or hit
        text = _said(hit.passage, span)
        place = (hit.doc_id, span.start, span.end, hit.passage)
        speaker = str(hit.metadata.get(SPEAKER, ""))
        told: dict[str, Any] = {"reader": reader, "origin": origin, "speaker": speaker}
        return cls(hit.topic or "", text, right, *place, **told)

    def to_row(self) -> dict[str, Any]:
        """The label as plain JSON types."""
        row: dict[str, Any] = {
            "topic": self.topic,
            "doc_id": self.doc_id,
            "start": self.start,
            "end": self.end,
            "text": self.text,
            "label": self.right,
        }
        told = {
            "passage": self.passage and self.passage.to_dict(),
            "reader": self.reader,
            "settled": self.settled,
            "date": self.date,
            "origin": self.origin and asdict(self.origin),
            "speaker": self.speaker,
        }
        return row | {name: value for name, value in told.items() if value}

    def to_json(self) -> bytes:
        """The label as one line of JSON, including the newline."""
        return orjson.dumps(self.to_row(), option=orjson.OPT_APPEND_NEWLINE)


@dataclass(frozen=True, slots=True)
class LabelEntry:
    """A label that nobody took back, and the number of its line in the file, from 1."""

    number: int
    label: Label


def read_labels(path: str | Path) -> list[Label]:
    """Labels from JSON lines, or a table of hits; of several about the same words one holds.

    That is the one that settles them, or else the last. A line needs ``topic``, ``text`` and
    ``label`` (true or false). It may have ``doc_id``, ``start``, ``end`` and ``passage``, as hits
    have them, and ``reader``, ``settled``, ``date`` and ``origin``, as `Label`. If ``label`` is
    null, the line takes back its reader's last answer about these words. A line with a checksum
    must be as it was written. A table is one that `write_hits` wrote, with labels; see
    `labelled_rows`. Raises an `InputError` naming file and line.
    """
    if Path(path).suffix.lower() in TABLES:
        rows = labelled_rows(path)
        labels = (label_of(row, where) for where, row in rows if row["label"] is not None)
        return list({label.key: label for label in labels}.values())
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: no labels ({error.strerror})") from None
    return [answer.label for answer in holding(read_answers(whole_lines(content), path))]


def whole_lines(content: bytes) -> bytes:
    """JSON lines without what somebody who is killed, or still writes, left of the last label."""
    whole = content.rfind(b"\n") + 1
    last = content[whole:]
    if not (last.startswith(_BEGIN) or _BEGIN.startswith(last)):
        return content
    try:
        json.JSONDecoder().raw_decode(last.decode("utf-8", "replace"))
    except json.JSONDecodeError:
        return content[:whole]
    except RecursionError:
        pass  # whoever reads the line says what is wrong with it
    return content


def sealed(row: Mapping[str, Any]) -> bytes:
    """A line of a file of labels, with a checksum that tells whether it is as it was written."""
    found = {**row, _CHECKSUM: xxh3_64_hexdigest(orjson.dumps(row))}
    return orjson.dumps(found, option=orjson.OPT_APPEND_NEWLINE)


def _unsealed(line: bytes, where: str) -> dict[str, Any]:
    """The content of a line; people's own lines have no checksum."""
    row = json_object(line, where)
    noted = row.pop(_CHECKSUM, None)
    if noted is not None and noted != xxh3_64_hexdigest(orjson.dumps(row)):
        raise InputError(
            f"{where}: not as it was written; if you changed it, delete its field {_CHECKSUM!r}"
        )
    return row


@dataclass(slots=True)
class LabelLines:
    """The entries of a file of labels, read line by line.

    A topic that is renamed has both names until that is done, so that a process that is killed
    meanwhile leaves it with its labels, whichever name its file has.

    Attributes:
        given: the answers of each reader about the same words; the last one counts.
        renaming: former names of the topics that are being renamed, by the new ones.
        samples: what was drawn to estimate each topic, the latest last.
    """

    given: dict[tuple[str, bool, LabelKey], list[LabelEntry]] = field(default_factory=dict)
    renaming: dict[str, str] = field(default_factory=dict)
    samples: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)

    @classmethod
    def of(cls, content: bytes, path: str | Path) -> LabelLines:
        """Read lines; an `InputError` names file and line of one that cannot be used."""
        lines = cls()
        for number, line in enumerate(content.splitlines(), start=1):
            if line.strip():
                checkpoint()
                where = f"{path}:{number}"
                row = _unsealed(line, where)
                if RENAME in row:
                    lines._rename(row, where)
                elif SAMPLE in row:
                    lines._sample(row, where)
                else:
                    lines._add(row, number, where)
        return lines

    def answers(self) -> list[LabelEntry]:
        """Every reader's last answers, in the order in which they were given."""
        found = [each[-1] for each in self.given.values() if each]
        both = {old: new for new, old in self.renaming.items()}
        named = [one for one in found if one.label.topic in both]
        found += [_renamed(one, both[one.label.topic]) for one in named]
        return sorted(found, key=attrgetter("number"))

    def _add(self, row: dict[str, Any], number: int, where: str) -> None:
        taken_back = row.get("label", False) is None
        label = label_of({**row, "label": False} if taken_back else row, where)
        label = replace(label, topic=self.renaming.get(label.topic, label.topic))
        answers = self.given.setdefault((label.reader, label.settled, label.key), [])
        if not taken_back:
            answers.append(LabelEntry(number, label))
        elif answers:
            answers.pop()

    def _sample(self, row: Mapping[str, Any], where: str) -> None:
        topic, drawn = row.get("topic"), row[SAMPLE]
        if not (isinstance(topic, str) and isinstance(drawn, Mapping)):
            raise InputError(f"{where}: 'topic' is a name, and {SAMPLE!r} an object")
        self.samples.setdefault(topic, []).append(drawn)

    def _rename(self, row: Mapping[str, Any], where: str) -> None:
        old, new, state = (row.get(name) for name in ("topic", RENAME, STATE))
        if not (isinstance(old, str) and isinstance(new, str) and state in (BEGUN, DONE, UNDONE)):
            told = f"'topic' and {RENAME!r} are names, and {STATE!r} is {BEGUN}, {DONE} or {UNDONE}"
            raise InputError(f"{where}: {told}")
        self.renaming.pop(new, None)
        if state == BEGUN:
            self.renaming[new] = old
        if state == DONE:
            self.samples.setdefault(new, []).extend(self.samples.pop(old, ()))
        for key in [key for key in self.given if state == DONE and key[2][0] == old]:
            reader, settled, (_, doc_id, start, end, text) = key
            words = new, doc_id, start, end, text
            moved = (_renamed(one, new) for one in self.given.pop(key))
            there = self.given.setdefault((reader, settled, words), [])
            there[:] = sorted([*there, *moved], key=attrgetter("number"))


def _renamed(answer: LabelEntry, topic: str) -> LabelEntry:
    return replace(answer, label=replace(answer.label, topic=topic))


def read_answers(content: bytes, path: str | Path) -> list[LabelEntry]:
    """Every reader's last answers about the same words, in the order in which they were given.

    What settles a disagreement comes beside its reader's own answer. Raises an `InputError` naming
    file and line.
    """
    return LabelLines.of(content, path).answers()


def holding(answers: Iterable[LabelEntry]) -> list[LabelEntry]:
    """One answer about the same words: what settled them, or else the last, in order."""
    ranked = sorted(answers, key=lambda answer: (answer.label.settled, answer.number))
    found = {answer.label.key: answer for answer in ranked}
    return sorted(found.values(), key=attrgetter("number"))


def known_to(reader: str, answers: Iterable[LabelEntry]) -> list[Label]:
    """Labels that a reader need not give: own answers, settled ones, and those without a name.

    For a reader without a name, all answers are.
    """
    labels = (answer.label for answer in answers)
    return [one for one in labels if one.settled or not reader or one.reader in ("", reader)]


def folded(text: str) -> str:
    """A text without difference of case and white space, to tell whether two are the same."""
    return " ".join(text.casefold().split())


def of_topic(labels: Iterable[Label], name: str) -> list[Label]:
    """The labels of one topic."""
    return [label for label in labels if label.topic == name]


def label_of(row: Mapping[str, Any], where: str) -> Label:
    """The label that a JSON object is, as `Label.to_json` writes it; ``where`` is its place.

    A hit with a label is one, too: of the words that were compared, as `Label.of` makes it.

    Raises an `InputError` on a missing field, or one of another type.
    """
    passage, label = row.get("passage"), row.get("label")
    try:
        if passage is not None:
            passage = record(Context, known(Context, decode(Mapping[str, Any], passage, "passage")))
        metadata = decode(Mapping[str, Any], row.get("metadata") or {}, "metadata")
        found = record(
            Label,
            {"end": len(str(row.get("text"))), **{key: row[key] for key in _PLAIN if key in row}},
            right=decode(bool, bool(label) if label in (0, 1) else label, "label"),
            passage=passage,
            speaker=str(row.get(SPEAKER) or metadata.get(SPEAKER, "")),
        )
        if passage is None:
            return found
        if _said(passage, found) != found.text:
            raise InputError("'passage' does not have 'text' from 'start' to 'end'")
        if row.get("span"):
            span = decode(Extent, row["span"], "span")
            text = _said(passage, span)
            found = replace(found, start=span.start, end=span.end, text=text)
        return found
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _said(passage: Context, place: Hit | Label | Extent) -> str:
    return passage.text[place.start - passage.start : place.end - passage.start]
