"""Documents with questions and the character spans that answer them, in published formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import orjson

from slice_os.datasets.files import DataSource
from slice_os.errors import InputError
from slice_os.text.documents import Document, Segment

OWN = "JSON lines"
Span: TypeAlias = tuple[int, int]
"""Half-open code points of a text."""

SPAN_SETS = DataSource(
    'a JSON object a line {"text", "queries": [{"query", "spans": [[start, end], ...]}]}, '
    "or CUAD, ContractNLI, QMSum, restaurant8k or SQuAD as published",
    "docs/evaluation/span-retrieval.md",
)
CATEGORIES = DataSource(
    "[{category, description}] as in CUAD's category_descriptions.csv",
    "https://github.com/TheAtticusProject/cuad",
)


class DocumentSpan(NamedTuple):
    """A span and the document that it is a part of; ``start`` and ``end`` as in `Span`."""

    doc_id: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Question:
    """A query for one document, and the spans that answer it, in order; there may be none."""

    doc_id: str
    query: str
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Annotated:
    """A document, the spans of each query, and the part of the set that the file names."""

    document: Document
    answers: dict[str, list[Span]]
    split: str | None = None


@dataclass(frozen=True, slots=True)
class SpanSet:
    """A set of documents, and of questions grouped by document."""

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Question, ...]


def refuse_shared(path: Path, trained: SpanSet, tested: SpanSet) -> None:
    """Raise an `InputError` if documents of a training set are among those measured."""
    shared = {one.text for one in trained.documents} & {one.text for one in tested.documents}
    if shared:
        raise InputError(
            f"{path}: {len(shared)} training documents are among those measured; "
            "choose sets or splits that share none"
        )


SpanSetReader = Callable[[Any, Path], Iterator[Annotated]]

# PolyAI's slot names as queries.
RESTAURANT_SLOTS = {
    "people": "number of people",
    "date": "date of the booking",
    "time": "time of the booking",
    "first_name": "first name",
    "last_name": "last name",
}


def read_span_set(path: Path, split: str | None = None, limit: int | None = None) -> SpanSet:
    """Read a set in any known format: all documents, or the first ones of a split.

    `InputError` if the file is missing, of no known form, or has no such split; if spans do not
    fit their text, or two documents have the same id.
    """
    name, every = _annotated(_content(path), path)
    chosen = [one for one in every if split is None or one.split == split]
    if not chosen:
        splits = ", ".join(sorted({one.split for one in every if one.split})) or "none"
        raise InputError(f"{path}: no document of split {split!r}; it has {splits}")
    documents: dict[str, Document] = {}
    questions: list[Question] = []
    for one in chosen[:limit]:
        if one.document.id in documents:
            raise InputError(f"{path}: two documents have the id {one.document.id!r}")
        documents[one.document.id] = one.document
        questions += _questions(one, path)
    named = path.name if name == OWN else name
    named = f"{named} {split}" if split else named
    return SpanSet(named, tuple(documents.values()), tuple(questions))


def _content(path: Path) -> Any:
    """The content of a JSON file, or a list of the objects of JSON Lines."""
    raw = SPAN_SETS.read(path)
    lines = [line for line in raw.splitlines() if line.strip()]
    try:
        if len(lines) > 1 and lines[0].rstrip().endswith(b"}"):
            return [orjson.loads(line) for line in lines]
        whole = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise SPAN_SETS.malformed(path, f"not valid JSON ({error})") from None
    alone = isinstance(whole, dict) and not {"documents", "data"} & set(whole)
    return [whole] if alone else whole


def _annotated(content: Any, path: Path) -> tuple[str, list[Annotated]]:
    """The format's name, and documents with their answers."""
    first = content[0] if isinstance(content, list) and content else content
    keys = set(first) if isinstance(first, dict) else set()
    known = ((name, reader) for name, marks, reader in _FORMS if marks <= keys)
    name, reader = next(known, ("", None))
    if reader is None:
        raise SPAN_SETS.malformed(path, "of no known form")
    found: list[Annotated] = []
    try:
        for one in reader(content, path):
            found.append(one)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        reason = f"record {len(found) + 1} is unlike the others ({type(error).__name__}: {error})"
        raise SPAN_SETS.malformed(path, reason) from None
    return name, found


def _questions(one: Annotated, path: Path) -> Iterator[Question]:
    size = len(one.document.text)
    for query, spans in one.answers.items():
        if not isinstance(query, str) or not query.strip():
            raise InputError(f"{path}: document {one.document.id!r}: query {query!r} is no text")
        for start, end in spans:
            if not 0 <= start < end <= size:
                raise InputError(
                    f"{path}: document {one.document.id!r}, query {query!r}: span "
                    f"{start}..{end} is empty or leaves the text of {size} characters"
                )
        yield Question(one.document.id, query, tuple(sorted(set(spans))))


def _records(content: Any, _: Path) -> Iterator[Annotated]:
    """SLICE-OS's own format.

    ``queries`` holds objects of ``query`` and ``spans``, or plain strings. For strings, a field
    ``spans`` has a list of spans for each query, or one list of spans that answers all of them.
    """
    for number, record in enumerate(content, start=1):
        document = Document(str(record.get("id", number)), record["text"])
        queries = record["queries"]
        if queries and all(isinstance(query, str) for query in queries):
            spans = record["spans"]
            shared = bool(spans) and isinstance(spans[0][0], int)
            lists = [spans] * len(queries) if shared else spans
            pairs = list(zip(queries, lists, strict=True))
        else:
            pairs = [(query["query"], query["spans"]) for query in queries]
        answers: dict[str, list[Span]] = {}
        for query, found in pairs:
            answers.setdefault(query, []).extend((int(a), int(b)) for a, b in found)
        yield Annotated(document, answers, record.get("split"))


def _cuad(content: Any, path: Path) -> Iterator[Annotated]:
    """Every category is a query for every contract, in the words of its description."""
    categories = CATEGORIES.json(path.with_name("categories.json"))
    described = {one["category"]: one["description"] for one in categories}
    for number, record in enumerate(content, start=1):
        answers: dict[str, list[Span]] = {description: [] for description in described.values()}
        for category, spans in record["clauses"].items():
            answers[described[category]] += [(span["start"], span["end"]) for span in spans]
        document = Document(f"{number} {record['title']}", record["text"])
        yield Annotated(document, answers, record.get("thirdparty_split"))


def _contract_nli(content: Any, _: Path) -> Iterator[Annotated]:
    """Every hypothesis is a query for every contract; evidence for and against it is an answer."""
    hypotheses = {key: label["hypothesis"] for key, label in content["labels"].items()}
    for record in content["documents"]:
        answers: dict[str, list[Span]] = {text: [] for text in hypotheses.values()}
        for key, annotation in record["annotation_sets"][0]["annotations"].items():
            spans = [record["spans"][index] for index in annotation["spans"]]
            answers[hypotheses[key]] += [(start, end) for start, end in spans if start < end]
        yield Annotated(Document(str(record["id"]), record["text"]), answers)


def _qmsum(content: Any, _: Path) -> Iterator[Annotated]:
    """The specific queries of a meeting; each range of turns is one span."""
    for number, record in enumerate(content, start=1):
        text, segments = "", []
        for turn in record["meeting_transcripts"]:
            start = len(text)
            text += turn["content"]
            segments.append(Segment(start, len(text), turn["speaker"]))
            text += "\n"
        answers: dict[str, list[Span]] = {}
        for item in record["specific_query_list"]:
            spans = answers.setdefault(item["query"], [])
            for first, last in item["relevant_text_span"]:
                start, end = segments[int(first)].start, segments[int(last)].end
                if start < end:
                    spans.append((start, end))
        document = Document(str(record.get("id", number)), text[:-1], segments=tuple(segments))
        yield Annotated(document, answers)


def _restaurant(content: Any, _: Path) -> Iterator[Annotated]:
    """Every slot is a query for every utterance; a start that is left out is 0."""
    for number, record in enumerate(content, start=1):
        answers: dict[str, list[Span]] = {query: [] for query in RESTAURANT_SLOTS.values()}
        for label in record.get("labels", ()):
            place = label["valueSpan"]
            span = (place.get("startIndex", 0), place["endIndex"])
            answers[RESTAURANT_SLOTS[label["slot"]]].append(span)
        yield Annotated(Document(str(number), record["userInput"]["text"]), answers)


def _squad(content: Any, _: Path) -> Iterator[Annotated]:
    """Every paragraph is a document; of CUAD's questions, the query is what follows "Details:"."""
    for article in content["data"]:
        for number, paragraph in enumerate(article["paragraphs"], start=1):
            document = Document(f"{article['title']} {number}", paragraph["context"])
            answers: dict[str, list[Span]] = {}
            for item in paragraph["qas"]:
                query = item["question"].rpartition("Details: ")[2]
                spans = answers.setdefault(query, [])
                for answer in item["answers"]:
                    start = answer["answer_start"]
                    spans.append((start, start + len(answer["text"])))
            yield Annotated(document, answers)


_FORMS: tuple[tuple[str, frozenset[str], SpanSetReader], ...] = (
    ("CUAD", frozenset({"title", "text", "clauses"}), _cuad),
    ("ContractNLI", frozenset({"documents", "labels"}), _contract_nli),
    ("QMSum", frozenset({"meeting_transcripts", "specific_query_list"}), _qmsum),
    ("restaurant8k", frozenset({"userInput"}), _restaurant),
    ("SQuAD", frozenset({"data", "version"}), _squad),
    (OWN, frozenset({"text", "queries"}), _records),
)
