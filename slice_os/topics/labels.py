"""Labels: people's answers on whether hits are right, one JSON object a line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import orjson

from slice_os.errors import InputError
from slice_os.hits.hit import Context, Hit
from slice_os.hits.labelled import TABLES, labelled_rows
from slice_os.tables.fields import decoded, json_object

LabelKey: TypeAlias = tuple[str, str, int, int, str]
"""The words that a label is about: topic, document, first code point, one past the last, text."""


@dataclass(frozen=True, slots=True)
class Label:
    """Whether some words are a hit of a topic.

    Attributes:
        topic: its name.
        right: whether they are a hit.
        text: the words.
        doc_id: their document; empty if unknown.
        start: first code point in the document.
        end: one past the last.
        context: the passage around them, if known; they are then encoded in it.
    """

    topic: str
    text: str
    right: bool
    doc_id: str = ""
    start: int = 0
    end: int = 0
    context: Context | None = None

    @property
    def key(self) -> LabelKey:
        """The words that it is about."""
        return self.topic, self.doc_id, self.start, self.end, self.text

    @classmethod
    def of(cls, hit: Hit, right: bool) -> Label:
        """A label of the span of a hit of a topic."""
        span = hit.span or hit
        begin = hit.context.start
        text = hit.context.text[span.start - begin : span.end - begin]
        place = (hit.doc_id, span.start, span.end, hit.context)
        return cls(hit.topic or "", text, right, *place)

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
        if self.context is not None:
            row["passage"] = self.context.to_dict()
        return row

    def to_json(self) -> bytes:
        """The label as one line of JSON, including the newline."""
        return orjson.dumps(self.to_row(), option=orjson.OPT_APPEND_NEWLINE)


@dataclass(frozen=True, slots=True)
class Answer:
    """A label that holds, and the number of its line in the file, from 1."""

    number: int
    label: Label


def read_labels(path: str | Path) -> list[Label]:
    """Labels from JSON lines, or a table of hits; of several about the same words the last holds.

    A line needs ``topic``, ``text`` and ``label`` (true or false). It may have ``doc_id``,
    ``start``, ``end`` and ``passage``, as hits have them. If ``label`` is null, the line takes back
    the last answer about these words. A table is one that `write_hits` wrote, with labels; see
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
    return [answer.label for answer in read_answers(content, path)]


def read_answers(content: bytes, path: str | Path) -> list[Answer]:
    """The labels of `read_labels`, from the content of their file.

    Raises an `InputError` naming file and line.
    """
    given: dict[LabelKey, list[Answer]] = {}
    for number, line in enumerate(content.splitlines(), start=1):
        if not line.strip():
            continue
        row = json_object(line, f"{path}:{number}")
        taken_back = row.get("label", False) is None
        label = label_of({**row, "label": False} if taken_back else row, f"{path}:{number}")
        answers = given.setdefault(label.key, [])
        if not taken_back:
            answers.append(Answer(number, label))
        elif answers:
            answers.pop()
    return [answers[-1] for answers in given.values() if answers]


def folded(text: str) -> str:
    """A text without difference of case and white space, to tell whether two are the same."""
    return " ".join(text.casefold().split())


def of_topic(labels: Iterable[Label], name: str) -> list[Label]:
    """The labels of one topic."""
    return [label for label in labels if label.topic == name]


def label_of(row: Mapping[str, Any], where: str) -> Label:
    """The label that a JSON object is, as `Label.to_json` writes it; ``where`` is its place.

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
    return Label(row["topic"], row["text"], bool(row["label"]), doc_id, start, end, context)
