"""What tests of several parts make: files to read, and places of hits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from slice_os import Document, Hit
from slice_os.ingest.readers import BadRecord, ReadOptions
from slice_os.ingest.reading import read
from slice_os.ingest.sources import Source

Read = Callable[..., tuple[list[Document], list[BadRecord]]]
One = TypeVar("One")
Other = TypeVar("Other")


def write(path: str, content: str | bytes) -> None:
    """Write a file, in its folder."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(content.encode() if isinstance(content, str) else content)


def read_all(source: Source, **options: Any) -> tuple[list[Document], list[BadRecord]]:
    """The documents of a source, and its bad records."""
    found = list(read(source, ReadOptions(**options)))
    return (
        [item for item in found if isinstance(item, Document)],
        [item for item in found if isinstance(item, BadRecord)],
    )


def only(kind: type[One], found: Iterable[object]) -> One:
    """The one record of a file, which is of that kind."""
    (one,) = found
    assert isinstance(one, kind), one
    return one


def pair(kind: type[One], other: type[Other], found: Iterable[object]) -> tuple[One, Other]:
    """The two records of a file, which are of these kinds."""
    first, second = found
    return only(kind, [first]), only(other, [second])


def places(hits: Iterable[Hit]) -> list[tuple[str, str, int, int]]:
    """Document, phrase and offsets of each hit."""
    return [(hit.doc_id, hit.phrase, hit.start, hit.end) for hit in hits]


def said_again(sentences: list[str], step: int) -> list[Document]:
    """21 documents that begin with each of seven sentences, and become longer by a step."""
    return [
        Document(f"d{number:02}", " ".join((sentences * 2)[number % 7 :][: 1 + number // step]))
        for number in range(21)
    ]
