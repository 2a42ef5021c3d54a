"""Labels: people's answers on whether hits are right, one JSON object a line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeAlias

import orjson

from slice_os.errors import InputError
from slice_os.hits.hit import Context, Hit
from slice_os.hits.labelled import TABLES, labelled_rows
from slice_os.tables.table import decoded, json_object
from slice_os.text.documents import Extent

# The beginning of every line of `Label.to_json`.
_BEGIN = b'{"topic":'

Place: TypeAlias = tuple[str, int, int]
"""The document of a span, its first code point, and one past the last."""

LabelKey: TypeAlias = tuple[str, str, int, int, str]
"""The words that a label is about: topic, document, first code point, one past the last, text."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What found the hit that a label is about.

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
        context: the passage around them, if known; they are then encoded in it.
        reader: name of who says so; empty if unknown.
        settled: whether it ends a disagreement of readers.
        date: when it was given, in UTC, as in 2026-11-23T16:00:00Z; empty if unknown.
        origin: what found the hit, if known.
    """

    topic: str
    text: str
    right: bool
    doc_id: str = ""
    start: int = 0
    end: int = 0
    context: Context | None = None
    reader: str = ""
    settled: bool = False
    date: str = field(default="", compare=False)
    origin: Origin | None = field(default=None, compare=False)

    @property
    def key(self) -> LabelKey:
        """The words that it is about."""
        return self.topic, self.doc_id, self.start, self.end, self.text

    @property
    def place(self) -> Place:
        """Where its words are."""
        return self.doc_id, self.start, self.end

    @classmethod
    def of(cls, hit: Hit, right: bool, reader: str = "", origin: Origin | None = None) -> Label:
        """A label of the span of a hit of a topic."""
        span = hit.span or hit
        begin = hit.context.start
        text = hit.context.text[span.start - begin : span.end - begin]
        place = (hit.doc_id, span.start, span.end, hit.context)
        return cls(hit.topic or "", text, right, *place, reader=reader, origin=origin)

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
            "passage": self.context and self.context.to_dict(),
            "reader": self.reader,
            "settled": self.settled,
            "date": self.date,
            "origin": self.origin and asdict(self.origin),
        }
        return row | {name: value for name, value in told.items() if value}

    def to_json(self) -> bytes:
        """The label as one line of JSON, including the newline."""
        return orjson.dumps(self.to_row(), option=orjson.OPT_APPEND_NEWLINE)


@dataclass(frozen=True, slots=True)
class Answer:
    """A label that nobody took back, and the number of its line in the file, from 1."""

    number: int
    label: Label


def read_labels(path: str | Path) -> list[Label]:
    """Labels from JSON lines, or a table of hits; of several about the same words one holds.

    That is the one that settles them, or else the last. A line needs ``topic``, ``text`` and
    ``label`` (true or false). It may have ``doc_id``, ``start``, ``end`` and ``passage``, as hits
    have them, and ``reader``, ``settled``, ``date`` and ``origin``, as `Label`. If ``label`` is
    null, the line takes back its reader's last answer about these words. A table is one that
    `write_hits` wrote, with labels; see `labelled_rows`. Raises an `InputError` naming file and
    line.
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
        orjson.loads(last)
    except orjson.JSONDecodeError:
        return content[:whole]
    return content


def read_answers(content: bytes, path: str | Path) -> list[Answer]:
    """Every reader's last answer about the same words, in the order in which they were given.

    What settles a disagreement comes beside its reader's own answer. Raises an `InputError` naming
    file and line.
    """
    given: dict[tuple[str, bool, LabelKey], list[Answer]] = {}
    for number, line in enumerate(content.splitlines(), start=1):
        if not line.strip():
            continue
        row = json_object(line, f"{path}:{number}")
        taken_back = row.get("label", False) is None
        label = label_of({**row, "label": False} if taken_back else row, f"{path}:{number}")
        answers = given.setdefault((label.reader, label.settled, label.key), [])
        if not taken_back:
            answers.append(Answer(number, label))
        elif answers:
            answers.pop()
    return sorted((each[-1] for each in given.values() if each), key=attrgetter("number"))


def holding(answers: Iterable[Answer]) -> list[Answer]:
    """One answer about the same words: what settled them, or else the last, in order."""
    ranked = sorted(answers, key=lambda answer: (answer.label.settled, answer.number))
    found = {answer.label.key: answer for answer in ranked}
    return sorted(found.values(), key=attrgetter("number"))


def known_to(reader: str, answers: Iterable[Answer]) -> list[Label]:
    """What a reader need not be asked: own answers, settled ones, and those without a name.

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
    for name in ("topic", "text"):
        if not isinstance(row.get(name), str) or not row[name].strip():
            raise InputError(f"{where}: field {name!r} is missing or no text")
    if row.get("label") not in (True, False):  # or 1 and 0, which are equal to them
        raise InputError(f"{where}: field 'label' is missing, or neither true nor false")
    start, end = row.get("start", 0), row.get("end", len(row["text"]))
    doc_id, passage = row.get("doc_id", ""), row.get("passage")
    if type(start) is not int or type(end) is not int or not isinstance(doc_id, str):
        raise InputError(f"{where}: 'start' and 'end' are whole numbers, and 'doc_id' is a text")
    reader, settled, date = row.get("reader", ""), row.get("settled", False), row.get("date", "")
    if not isinstance(reader, str) or not isinstance(date, str) or not isinstance(settled, bool):
        raise InputError(f"{where}: 'reader' and 'date' are texts, and 'settled' is true or false")
    try:
        origin = decoded(Origin | None, row.get("origin"))
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{where}: 'origin' cannot be used ({error})") from None
    context = None
    if passage is not None:
        try:
            context = decoded(Context, {name: passage[name] for name in ("start", "end", "text")})
        except (KeyError, TypeError):
            raise InputError(
                f"{where}: 'passage' needs 'start' and 'end', whole numbers, and 'text'"
            ) from None
        if context.text[start - context.start : end - context.start] != row["text"]:
            raise InputError(f"{where}: 'passage' does not have 'text' from 'start' to 'end'")
    text = row["text"]
    if context is not None and row.get("span"):
        try:
            span = decoded(Extent, row["span"])
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"{where}: 'span' cannot be used ({error})") from None
        start, end = span.start, span.end
        text = context.text[start - context.start : end - context.start]
    words = (row["topic"], text, bool(row["label"]), doc_id, start, end, context)
    return Label(*words, reader, settled, date, origin)
