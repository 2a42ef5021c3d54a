"""Requests to a service, retries, and answers as the types of the library; nothing is sent here."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar
from urllib.parse import quote

import orjson

from slice_os.client.errors import ServiceError, ServiceUnavailableError, error_of, told_error
from slice_os.client.records import Estimating, Highlights, Tagged
from slice_os.errors import InputError
from slice_os.estimates.tallies import Tally
from slice_os.hits.document_hits import DocumentHits
from slice_os.hits.hit import Hit, Hits
from slice_os.labels.label import Label, label_of
from slice_os.query.options import HitOptions
from slice_os.records import record
from slice_os.text.documents import Document, checked_documents
from slice_os.topics.match import Case, Match, Suggestion

if TYPE_CHECKING:
    import httpx

    from slice_os.arrays import FloatArray


T = TypeVar("T")

FIRST_PAUSE = 0.25
LONGEST_PAUSE = 10.0
AGAIN = (429, 503)
_SECONDS = re.compile(r"\d{1,6}")

Phrases: TypeAlias = "str | Sequence[str]"
Progress: TypeAlias = Callable[[int, "int | None"], None]
"""Called with the number of hits so far, and of all hits, if it is known."""

MOST_AT_ONCE = 1_000
# What reading the answer of something else ends in.
_UNREADABLE = (AttributeError, LookupError, TypeError, ValueError, InputError)


@dataclass(frozen=True, slots=True)
class Service:
    """Address and options of a service.

    The store is the one to ask, unless a request names one; None if the service has only one. If
    the service is too busy, a request is repeated as often as ``retries`` says.

    Raises an `InputError` if the address, which messages repeat, has a user or a password.
    """

    address: str
    api_key: str | None
    store: str | None
    retries: int

    def __post_init__(self) -> None:
        if "@" in self.address.partition("://")[2].partition("/")[0]:
            told = "a password does not belong in the address of a service"
            raise InputError(f"{told}; give http a client with it, as httpx.Client(auth=…)")

    def request(
        self, method: str, *path: str, body: Any = None, params: Any = None, headers: Any = None
    ) -> dict[str, Any]:
        """The arguments with which httpx builds a request.

        In the body and in the parameters, None stands for the usual store, and leaves out any
        other value. Parts of the path may have any characters.
        """
        headers = dict(headers or {})
        if self.api_key is not None:
            headers["Authorization"] = f"Bearer {self.api_key}"
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = orjson.dumps(self._given(body))
        return {
            "method": method,
            "url": "/".join([self.address.rstrip("/"), *map(_quoted, path)]),
            "params": self._given(params or {}),
            "headers": headers,
            "content": body,
        }

    def _given(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options that are not None, and the usual store where that option is None."""
        named = {**options, "store": self.store} if options.get("store", "") is None else options
        return {name: value for name, value in named.items() if value is not None}

    def unreachable(self, error: Exception) -> ServiceError:
        """The error to raise if there was no answer."""
        why = " ".join(str(error).split()) or type(error).__name__
        return ServiceUnavailableError(
            f"{self.address}: no answer ({why}); is `slice-os serve` running there?"
        )


def pause_after(attempt: int, wished: str) -> float:
    """Seconds until a request should be repeated after its attempt, from 0: as wished, if it is."""
    seconds = float(wished) if _SECONDS.fullmatch(wished) else FIRST_PAUSE * 2.0**attempt
    return min(seconds, LONGEST_PAUSE)


def result(response: httpx.Response, read: Callable[[Any], T]) -> T:
    """The result that ``read`` makes of a complete answer's JSON, or of None if it is empty.

    Raises a `ServiceError` if the answer is an error, or not that of a service.
    """
    if not response.is_success:
        raise error_of(response.status_code, response.content)
    try:
        return read(orjson.loads(response.content) if response.content else None)
    except _UNREADABLE:
        raise ServiceError(
            f"{response.url}: not the answer of a SLICE-OS service; check the address",
            response.status_code,
        ) from None


def _quoted(part: str) -> str:
    """One part of a path; unquoted dots would lead elsewhere."""
    quoted = quote(part, safe="")
    return quoted if quoted.strip(".") else quoted.replace(".", "%2E")


class MinedLines(Generic[T]):
    """Reads the lines of a stream, in pieces of any size.

    Args:
        kind: what lines hold, ``hit`` or ``document``.
        read: what makes the type of the library from one.
        progress: called with the number of them so far.
    """

    def __init__(
        self, kind: str, read: Callable[[Any], T], progress: Progress | None = None
    ) -> None:
        self._kind = kind
        self._read: Mapping[str, Callable[[Any], Any]] = {
            kind: read,
            "progress": itemgetter("done", "of"),
            "summary": limits,
            "error": told_error,
        }
        self._progress = progress
        self._rest: list[bytes] = []
        self._summary: dict[str, Any] | None = None

    def rows(self, piece: bytes) -> Iterator[T]:
        """The rows on lines that end in a piece of the answer; raises the error that it reports."""
        end, *begun = piece.split(b"\n")
        self._rest.append(end)  # joined once, however many pieces a line comes in
        if not begun:
            return
        lines = [b"".join(self._rest), *begun[:-1]]
        self._rest = begun[-1:]
        for line in lines:
            try:
                given = orjson.loads(line).items()
                told = {name: self._read[name](one) for name, one in given if name in self._read}
            except _UNREADABLE:
                raise ServiceError(
                    f"{line[:80]!r}: not a line of a SLICE-OS service; check the address"
                ) from None
            if "error" in told:
                raise told["error"]
            if self._kind in told:
                yield told[self._kind]
            if "progress" in told and self._progress is not None:
                self._progress(*told["progress"])
            self._summary = told.get("summary", self._summary)

    def summary(self) -> dict[str, Any]:
        """What its rows were selected with; a stream that ended too early is an error."""
        if self._summary is None:
            raise ServiceError("the stream of hits broke off; mine again")
        return self._summary


def wanted(
    options: HitOptions, phrases: Phrases, topics: Sequence[str] = (), **others: Any
) -> dict[str, Any]:
    """The body of a request for hits of topics, or else of phrases."""
    named = {"topics": topics} if topics else {"phrases": phrases}
    return {**options.given(), **named, **others}


def rows(documents: Iterable[Document]) -> list[dict[str, Any]]:
    """Documents as the service takes them."""
    return [_row(document) for document in checked_documents(documents)]


def plain(found: Any) -> Any:
    """An answer without a change."""
    return found


def hits(found: Any) -> Hits:
    """The hits of an answer, and the limits that they were selected with."""
    return Hits(tuple(map(Hit.from_dict, found["hits"])), **limits(found))


def limits(found: Any) -> dict[str, Any]:
    """What hits were selected with, as fields of `Hits`."""
    usual = {"threshold": None, "exhaustive": False, "min_probability": None}
    return {name: found.get(name, value) for name, value in usual.items()}


def document(found: Any) -> Document:
    """A document with its text and metadata."""
    return Document(found["id"], found["text"], found["metadata"])


def highlights(found: Any) -> Highlights:
    """A document, and the hits in it."""
    return Highlights(document(found), hits(found))


def tagged(found: Any) -> list[Tagged]:
    """The topics of each document, and their hits."""
    return [Tagged(row["id"] or "", tuple(row["topics"]), hits(row)) for row in found["documents"]]


def phrase_vectors(found: Any) -> FloatArray:
    """``(n_phrases, dimension)`` unit vectors."""
    return _array(found["phrases"], found["dimensions"])


def span_vectors(found: Any) -> FloatArray:
    """``(n_spans, dimension)`` unit vectors of the spans of one text."""
    return _array(found["texts"][0]["spans"], found["dimensions"])


def added(found: Any) -> int:
    """The number of documents or labels that were added."""
    return int(found["added"])


def label(found: Any) -> Label:
    """A label."""
    return label_of(found, "label")


def cases(found: Any) -> list[Case]:
    """The examples of a topic, and their results."""
    return [record(Case, row) for row in found["cases"]]


def near_misses(found: Any) -> list[Suggestion]:
    """The near misses of a topic, clustered."""
    return [record(Suggestion, row) for row in found["suggestions"]]


def matches(found: Any) -> list[Match]:
    """Matches of combined topics; a rule that cannot be looked for is a warning."""
    _warn(found)
    return list(map(Match.from_dict, found["matches"]))


def matrix(found: Any) -> list[DocumentHits]:
    """The cells of documents and topics."""
    return list(map(DocumentHits.from_dict, found["cells"]))


def estimating(found: Any) -> Estimating:
    """A sample: the hits left to label, and the estimate from its labels."""
    return Estimating(found["sampled"], hits(found), found["estimate"])


def tallies(found: Any) -> list[Tally]:
    """The counts of one topic, or of each topic; a rule that cannot be counted is a warning."""
    _warn(found)
    return [
        Tally(topic["topic"], row["key"], row["hits"], row["documents"], row["within"])
        for topic in found.get("topics", [found])
        for row in topic["counts"]
    ]


def _warn(found: Any) -> None:
    """Warn of topics that were left out of an answer for all of them."""
    for problem in found.get("problems", ()):
        warnings.warn(problem, stacklevel=3)


def _row(document: Document) -> dict[str, Any]:
    row: dict[str, Any] = {"id": document.id, "text": document.text}
    if document.metadata:
        row["metadata"] = dict(document.metadata)
    if document.segments:
        row["segments"] = document.segments
    if document.language is not None:
        row["language"] = document.language
    return row


def _array(rows: Sequence[Sequence[float]], dimension: int) -> FloatArray:
    import numpy as np

    return np.array(rows, dtype=np.float32).reshape(len(rows), dimension)
