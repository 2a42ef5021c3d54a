"""Labels from tasks that people answered in other tools: Label Studio and Prodigy.

A task that `slice_os.write_hits` wrote holds a document and its hits, as ``hits``. People keep,
remove and add spans. A span that is there is right; a hit that none of them touches is wrong.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import orjson

from slice_os.errors import InputError
from slice_os.hits.exchange.documents import Given, TextOf
from slice_os.hits.labelled import TABLES, labelled_rows
from slice_os.labels.label import Label, label_of, read_answers
from slice_os.records import decode, record
from slice_os.tables.table import json_object
from slice_os.text.documents import Extent
from slice_os.text.sentences import sentence_ends

_LABEL_STUDIO = ".json"
_Names: TypeAlias = tuple[str, ...]
# The spans of a task, which has one text, come one after the other.
_sentence_ends = lru_cache(1)(sentence_ends)


@dataclass(frozen=True, slots=True)
class Span(Extent):
    """A span that people gave a topic, and its words, if the tool tells them."""

    topic: str
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Task:
    """An answered task.

    Attributes:
        doc_id: the document.
        text: its text when the task was made.
        spans: those of the answer.
        given: the hits that the task was made of.
        right: whether the answer is that its spans are right; else they are wrong.
        reader: who gave it; empty if the tool does not tell.
        date: when; empty likewise.
    """

    doc_id: str
    text: str
    spans: tuple[Span, ...]
    given: tuple[Given, ...]
    right: bool
    reader: str
    date: str


def read_answered(path: str | Path, text_of: TextOf) -> Iterator[Label | InputError]:
    """The labels of a file; what cannot be used comes as an error that says where and why.

    Args:
        path: an export of Label Studio (``.json``), JSON lines of Prodigy, or labels as
            `read_labels` takes them.
        text_of: gives the text of a document. The words of a label must be where it says.

    Raises:
        InputError: if the file cannot be read at all.
    """
    for where, found in _entries(Path(path)):
        try:
            if isinstance(found, Label):
                yield _checked(found, text_of)
            else:
                for task in _tasks(found):
                    yield from _labels(task, text_of(task.doc_id))
        except InputError as error:
            yield InputError(f"{where}: {error}")


def _entries(path: Path) -> Iterator[tuple[str, Label | dict[str, Any]]]:
    """The labels and tasks of a file, each with its place."""
    if path.suffix.lower() in TABLES:
        rows = [row for row in labelled_rows(path) if row[1]["label"] is not None]
        if not rows:
            raise InputError(
                f"{path}: no row has a label; give hits a column 'label' with ✓ or y if they are "
                "right, ✕ or n if not"
            )
        yield from ((where, label_of(row, where)) for where, row in rows)
        return
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: no labels ({error.strerror})") from None
    if path.suffix.lower() == _LABEL_STUDIO:
        yield from _exported(content, path)
        return
    numbered = enumerate(content.splitlines(), 1)
    lines = [(f"{path}:{n}", line) for n, line in numbered if line.strip()]
    if lines and "spans" in json_object(lines[0][1], lines[0][0]):
        yield from ((where, json_object(line, where)) for where, line in lines)
    else:
        answers = read_answers(content, path)
        yield from ((f"{path}:{answer.number}", answer.label) for answer in answers)


def _exported(content: bytes, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The tasks of an export of Label Studio."""
    try:
        tasks = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{path}: not valid JSON ({error})") from None
    if not isinstance(tasks, list) or not all(isinstance(one, dict) for one in tasks):
        raise InputError(f"{path}: no list of tasks; export as JSON in Label Studio")
    for number, task in enumerate(tasks, 1):
        yield f"{path}: task {task.get('id', number)}", task


def _tasks(raw: dict[str, Any]) -> list[Task]:
    """The answers to a task of Label Studio, one for each person, or to one of Prodigy."""
    try:
        return _of_prodigy(raw) if "spans" in raw else _of_label_studio(raw)
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"no answered task that SLICE-OS wrote ({error!r})") from None


def _of_label_studio(raw: dict[str, Any]) -> list[Task]:
    """Annotations, without skipped ones; regions without labels, such as choices, say nothing."""
    tasks = []
    for annotation in raw["annotations"]:
        values = [region.get("value", {}) for region in annotation["result"]]
        named = ((value, decode(_Names, value.get("labels", ()), "labels")) for value in values)
        spans = [_span(value, name) for value, names in named for name in names]
        if not annotation.get("was_cancelled"):
            who = annotation.get("completed_by") or ""
            name = who["email"] if isinstance(who, dict) else f"label-studio-{who}" if who else ""
            when = annotation.get("created_at") or ""
            tasks.append(_task(raw["data"], raw["data"]["doc_id"], spans, True, name, when))
    return tasks


def _of_prodigy(raw: dict[str, Any]) -> list[Task]:
    """An accepted or rejected line; one that was ignored, or has no answer yet, gives nothing."""
    spans = [_span(span, span["label"]) for span in raw["spans"]]
    right, name = raw.get("answer") == "accept", raw.get("_annotator_id") or ""
    task = _task(raw, raw["meta"]["doc_id"], spans, right, name, "")
    return [task] if raw.get("answer") in ("accept", "reject") else []


def _span(raw: dict[str, Any], topic: str) -> Span:
    place = {"start": raw["start"], "end": raw["end"]}
    return record(Span, {**place, "topic": topic, "text": raw.get("text")})


def _task(
    raw: dict[str, Any], doc_id: Any, spans: list[Span], right: bool, reader: Any, date: Any
) -> Task:
    told = {"doc_id": doc_id, "text": raw["text"], "reader": reader, "date": date}
    given = decode(tuple[Given, ...], raw.get("hits") or [], "hits")
    return record(Task, told, spans=tuple(spans), given=given, right=right)


def _checked(label: Label, text_of: TextOf) -> Label:
    """A label whose words are where it says; one without a document says nowhere."""
    if label.doc_id:
        text, place = text_of(label.doc_id), Extent(label.start, label.end)
        if _words(text, place) != label.text:
            raise _elsewhere(label.doc_id, place, label.text, text)
    return label


def _labels(task: Task, text: str) -> list[Label]:
    """The labels of a task, whose document has a text now."""
    kept = [(span.topic, _place(span, task.text)) for span in task.spans]
    known = {(one.topic, one.start, one.end): one for one in task.given}
    answers = [
        (known.get((topic, place.start, place.end)) or _given(topic, place, task.text), task.right)
        for topic, place in kept
    ]
    if task.right:
        answers += [(one, False) for one in task.given if not _touched(one, kept)]
    return [_label(task, given, right, text) for given, right in answers]


def _label(task: Task, given: Given, right: bool, text: str) -> Label:
    """The label of the words that were compared, or of the whole span, in their passage."""
    words, passage = given.span or given, given.passage
    said = _words(task.text, passage)
    if _words(text, passage) != said:
        raise _elsewhere(task.doc_id, passage, said, text)
    place = {"doc_id": task.doc_id, "start": words.start, "end": words.end}
    around = {"start": passage.start, "end": passage.end, "text": said}
    told = {"label": right, "reader": task.reader, "date": task.date}
    row = {"topic": given.topic, "text": _words(task.text, words), "passage": around}
    return label_of({**row, **place, **told}, f"{task.doc_id}:{words.start}-{words.end}")


def _given(topic: str, place: Extent, text: str) -> Given:
    """A span that people added, in the sentences around it."""
    ends = _sentence_ends(text)
    before = bisect_right(ends, place.start)
    start = ends[before - 1] if before else 0
    return Given(place.start, place.end, topic, Extent(start, ends[bisect_left(ends, place.end)]))


def _touched(given: Given, kept: Sequence[tuple[str, Extent]]) -> bool:
    return any(
        topic == given.topic and place.start < given.end and given.start < place.end
        for topic, place in kept
    )


def _place(span: Span, text: str) -> Extent:
    """The code points of a span; old versions of Label Studio count units of UTF-16."""
    points = Extent(span.start, span.end)
    words = _words(text, points)
    if words and (span.text is None or _folded(words) == _folded(span.text)):
        return points
    units = Extent(*(_code_points(text, offset) for offset in (span.start, span.end)))
    if span.text and _folded(_words(text, units)) == _folded(span.text):
        return units
    raise _elsewhere("the task", points, span.text or "", text)


def _words(text: str, place: Extent) -> str:
    """The words of a text; none, if it has no such place."""
    return text[place.start : place.end] if 0 <= place.start < place.end <= len(text) else ""


def _code_points(text: str, units: int) -> int:
    return len(text.encode("utf-16-le")[: 2 * max(0, units)].decode("utf-16-le", "ignore"))


def _folded(text: str) -> str:
    r"""Words without the kind of white space; Label Studio writes line ends as ``\n``."""
    return " ".join(text.replace("\\n", " ").split())


def _elsewhere(name: str, place: Extent, words: str, text: str) -> InputError:
    there = _words(text, place)
    return InputError(
        f"{name}:{place.start}-{place.end} has {there!r:.60}, not {words!r:.60}; the text has "
        "changed, or the offsets do not count code points"
    )
