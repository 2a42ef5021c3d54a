"""The requests that a client may make, and what their answers mean; nothing is sent here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast
from urllib.parse import quote

from slice_os.client.records import (
    Case,
    FieldValue,
    Highlights,
    NearMisses,
    StoreRecord,
    Tagged,
    TopicTable,
)
from slice_os.hits.hit import Hit, Hits
from slice_os.text.documents import ENGLISH, Document
from slice_os.topics.labels import Label, LabelKey, label_of
from slice_os.topics.tallies import Tally

T = TypeVar("T")
Phrases = str | Sequence[str]
Options = Mapping[str, Any]
Vectors = tuple[list[list[float]], int]
"""Vectors, and their dimension."""

_PAGE = 1_000


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """A request.

    Attributes:
        method: of HTTP.
        path: below the address of the service.
        read: makes the result from the JSON of the answer.
        body: plain JSON types; None for no body.
        params: of the address.
        headers: besides the usual ones.
    """

    method: str
    path: str
    read: Callable[[Any], T]
    body: Any = None
    params: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


def stores() -> Call[list[StoreRecord]]:
    """Every store of the service."""
    return Call("GET", "stores", lambda found: cast("list[StoreRecord]", found["stores"]))


def field_values(store: str, name: str, limit: int) -> Call[list[FieldValue]]:
    """The values of a metadata field."""
    path = f"stores/{_quoted(store)}/fields/{_quoted(name)}"
    return Call("GET", path, lambda found: found["values"], params={"limit": limit})


def search(phrases: Phrases, options: Options) -> Call[Hits]:
    """The best passages for any of the phrases."""
    return Call("POST", "search", _hits, {"phrases": phrases, **_given(options)})


def mine(phrases: Phrases, topics: Sequence[str], options: Options) -> Call[None]:
    """Every hit of phrases or topics, as a stream; see `slice_os.client.streams`."""
    wanted: Options = {"topics": topics} if topics else {"phrases": phrases}
    return Call("POST", "mine", _nothing, {**wanted, **_given(options)})


def scan(documents: Iterable[Document], phrases: Phrases, options: Options) -> Call[Hits]:
    """Every hit in documents that are not stored."""
    body = {"documents": _rows(documents), "phrases": phrases, **_given(options)}
    return Call("POST", "scan", _hits, body)


def tag(documents: Iterable[Document], topics: Sequence[str] | None) -> Call[list[Tagged]]:
    """The topics of documents that are not stored."""
    body = {"documents": _rows(documents), **_given({"topics": topics})}
    return Call("POST", "tag", lambda found: [_tagged(row) for row in found["documents"]], body)


def encode_phrases(phrases: Sequence[str]) -> Call[Vectors]:
    """The vectors of phrases."""

    def read(found: Any) -> Vectors:
        return found["phrases"], found["dimensions"]

    return Call("POST", "encode", read, {"phrases": phrases})


def encode_spans(text: str, spans: Sequence[tuple[int, int]]) -> Call[Vectors]:
    """The vectors of spans of a text."""

    def read(found: Any) -> Vectors:
        return found["texts"][0]["spans"], found["dimensions"]

    return Call("POST", "encode", read, {"texts": [{"text": text, "spans": spans}]})


def add(documents: Iterable[Document], store: str | None) -> Call[int]:
    """Store documents."""
    body = {"documents": _rows(documents), **_given({"store": store})}
    return Call("POST", "documents", _added, body)


def document_ids(store: str | None, after: str | None) -> Call[tuple[list[str], str | None]]:
    """Some ids of a store, and where to go on."""
    params = _given({"store": store, "after": after, "limit": _PAGE})

    def read(found: Any) -> tuple[list[str], str | None]:
        return [row["id"] for row in found["documents"]], found["next"]

    return Call("GET", "documents", read, params=params)


def document(doc_id: str, store: str | None) -> Call[Document]:
    """A document with its text."""
    path = f"documents/{_quoted(doc_id)}"
    return Call("GET", path, _document, params=_given({"store": store}))


def delete(doc_id: str, store: str | None) -> Call[None]:
    """Delete a document."""
    path = f"documents/{_quoted(doc_id)}"
    return Call("DELETE", path, _nothing, params=_given({"store": store}))


def highlights(
    doc_id: str, phrases: Phrases, topics: Sequence[str], options: Options
) -> Call[Highlights]:
    """A document with the hits in it."""
    path = f"documents/{_quoted(doc_id)}/highlights"
    wanted: Options = {"topics": topics} if topics else {"phrases": phrases}

    def read(found: Any) -> Highlights:
        return Highlights(_document(found), _hits(found))

    return Call("POST", path, read, {**wanted, **_given(options)})


def topics() -> Call[list[TopicTable]]:
    """Every topic."""
    return Call("GET", "topics", lambda found: cast("list[TopicTable]", found["topics"]))


def topic(name: str) -> Call[TopicTable]:
    """One topic."""
    return Call("GET", _topic_path(name), _table)


def save_topic(table: TopicTable) -> Call[TopicTable]:
    """Replace the version of a topic that has its etag; without an etag, add it."""
    body = {key: value for key, value in table.items() if key != "etag"}
    if "etag" not in table:
        return Call("POST", "topics", _table, body)
    headers = {"If-Match": f'"{table["etag"]}"'}
    return Call("PUT", _topic_path(table["name"]), _table, body, headers=headers)


def delete_topic(name: str) -> Call[None]:
    """Delete a topic."""
    return Call("DELETE", _topic_path(name), _nothing)


def try_topic(name: str) -> Call[list[Case]]:
    """Try the examples of a topic."""

    def read(found: Any) -> list[Case]:
        return [
            Case(**{**row, "hit": row["hit"] and Hit.from_dict(row["hit"])})
            for row in found["cases"]
        ]

    return Call("POST", f"{_topic_path(name)}/test", read)


def suggest(name: str, options: Options) -> Call[list[NearMisses]]:
    """Near misses of a topic."""

    def read(found: Any) -> list[NearMisses]:
        return [NearMisses(**{**row, "hits": _hits(row)}) for row in found["suggestions"]]

    return Call("POST", f"{_topic_path(name)}/suggest", read, _given(options))


def learn(name: str, options: Options) -> Call[TopicTable]:
    """Learn from the labels of a topic."""
    return Call("POST", f"{_topic_path(name)}/learn", _table, _given(options))


def counts(name: str | None, by: str, options: Options) -> Call[list[Tally]]:
    """How often a topic occurs, or each of them."""

    def read(found: Any) -> list[Tally]:
        return [
            Tally(topic["topic"], row["key"], row["hits"], row["documents"])
            for topic in ([found] if name is not None else found["topics"])
            for row in topic["counts"]
        ]

    path = "counts" if name is None else f"{_topic_path(name)}/counts"
    return Call("GET", path, read, params={"by": by, **_given(options)})


def labels(name: str | None, after: int) -> Call[tuple[list[Label], int | None]]:
    """Some labels, and where to go on."""

    def read(found: Any) -> tuple[list[Label], int | None]:
        return [label_of(row, "label") for row in found["labels"]], found["next"]

    params = _given({"topic": name, "after": after, "limit": _PAGE})
    return Call("GET", "labels", read, params=params)


def add_labels(given: Iterable[Label]) -> Call[int]:
    """Add labels."""
    return Call("POST", "labels", _added, {"labels": [label.to_row() for label in given]})


def take_back(key: LabelKey) -> Call[None]:
    """Take back the last answer about some words."""
    row = dict(zip(("topic", "doc_id", "start", "end", "text"), key, strict=True))
    return Call("DELETE", "labels", _nothing, row)


def _given(options: Options) -> dict[str, Any]:
    """The options that are not None, which is how the service has them if they are missing."""
    return {name: value for name, value in options.items() if value is not None}


def _quoted(name: str) -> str:
    """A name as one part of a path, whatever it has; dots alone would lead elsewhere."""
    quoted = quote(name, safe="")
    return quoted if quoted.strip(".") else quoted.replace(".", "%2E")


def _topic_path(name: str) -> str:
    return f"topics/{_quoted(name)}"


def _rows(documents: Iterable[Document]) -> list[dict[str, Any]]:
    return [_row(document) for document in documents]


def _row(document: Document) -> dict[str, Any]:
    row: dict[str, Any] = {"id": document.id, "text": document.text}
    if document.metadata:
        row["metadata"] = dict(document.metadata)
    if document.segments:
        row["segments"] = document.segments
    if document.language != ENGLISH:
        row["language"] = document.language
    return row


def _nothing(_answer: Any) -> None:
    return None


def _added(found: Any) -> int:
    return int(found["added"])


def _hits(found: Any) -> Hits:
    return Hits(
        tuple(Hit.from_dict(row) for row in found["hits"]),
        found.get("threshold"),
        found.get("exhaustive", False),
        found.get("min_probability"),
    )


def _document(found: Any) -> Document:
    return Document(found["id"], found["text"], found["metadata"])


def _table(found: Any) -> TopicTable:
    return cast("TopicTable", found)


def _tagged(row: Any) -> Tagged:
    return Tagged(row["id"] or "", tuple(row["topics"]), _hits(row))
