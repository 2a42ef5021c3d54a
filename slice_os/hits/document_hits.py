"""Whether documents have something: their hits, what comes nearest, and both as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import Any

from slice_os.errors import InputError
from slice_os.hits.bands import FINDINGS, Finding, finding_of
from slice_os.hits.hit import Hit
from slice_os.records import record
from slice_os.tables.replacing import replacing
from slice_os.tables.spreadsheets import WRITERS
from slice_os.tables.table import Column, collected

_FIELDS = ("probability", "text", "start", "section")


@dataclass(frozen=True, slots=True)
class DocumentHits:
    """A document in a list, or a cell of a table of documents and topics.

    Attributes:
        hits: number of its hits, if these are counted.
        nearest: the likeliest hit, or what comes nearest to one; None if it is not looked for, or
            the document has no words that may count.
        topic: that it has or lacks; None for phrases.
        finding: whether it ``has`` or ``lacks`` it, or that is ``unsure``; None if nobody asked.
    """

    doc_id: str
    hits: int | None = None
    nearest: Hit | None = None
    topic: str | None = None
    finding: Finding | None = None

    @classmethod
    def of(cls, doc_id: str, topic: str | None, hits: int, nearest: Hit | None) -> DocumentHits:
        """The document with what is found of it; people's answer about the nearest hit decides."""
        if nearest is None or nearest.label is False:
            found: Finding = "lacks"
        else:
            found = "has" if nearest.label else finding_of(hits, nearest.probability)
        return cls(doc_id, hits, nearest, topic, found)

    @property
    def probability(self) -> float | None:
        """That of its nearest hit, to six decimals; 0 if there is none."""
        known = self.nearest.probability if self.nearest else 0.0
        return None if known is None else round(known, 6)

    def to_dict(self) -> dict[str, Any]:
        """The known fields, as plain JSON types."""
        row: dict[str, Any] = {"doc_id": self.doc_id, "topic": self.topic, "finding": self.finding}
        row |= {"hits": self.hits, "nearest": self.nearest and self.nearest.to_dict()}
        return {name: value for name, value in row.items() if value is not None}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> DocumentHits:
        """The document that `to_dict` gave."""
        return record(cls, raw)


def with_sections(
    cells: Iterable[DocumentHits], sections: Callable[[Iterable[Hit]], Iterator[Hit]]
) -> Iterator[DocumentHits]:
    """The cells, their nearest hits as ``sections`` returns them; see `Corpus.with_sections`."""
    found = list(cells)
    # Document by document, since each is read for it.
    near = sorted((cell.nearest for cell in found if cell.nearest), key=attrgetter("doc_id"))
    named = {(hit.doc_id, hit.topic): hit for hit in sections(near)}
    for cell in found:
        yield replace(cell, nearest=named.get((cell.doc_id, cell.topic)))


def ranked(cells: Iterable[DocumentHits]) -> list[DocumentHits]:
    """The cells of each topic, from the document that most surely lacks it; topics as they come."""
    found = list(cells)
    topics = {topic: number for number, topic in enumerate(dict.fromkeys(c.topic for c in found))}

    def order(cell: DocumentHits) -> tuple[int, int, float, float]:
        cosine = cell.nearest.cosine if cell.nearest else -1.0
        finding = FINDINGS.index(cell.finding or "lacks")
        return topics[cell.topic], finding, cell.probability or 0.0, cosine

    return sorted(found, key=order)


def findings(cells: Iterable[DocumentHits]) -> dict[str | None, dict[Finding, int]]:
    """Count the documents that lack, may have and have each topic."""
    counts: dict[str | None, Counter[str | None]] = {}
    for cell in cells:
        counts.setdefault(cell.topic, Counter())[cell.finding] += 1
    return {topic: {one: own[one] for one in FINDINGS} for topic, own in counts.items()}


def check_matrix(path: Path) -> None:
    """Raise an `InputError` unless a table of documents and topics can be written to the file.

    Raises a `MissingExtraError` if a package for it is not installed.
    """
    from slice_os.hits.files import output_format

    if path.suffix.lower() not in WRITERS:
        raise InputError(f"{path}: this table is written to files ending in {', '.join(WRITERS)}")
    output_format(path)


def write_matrix(cells: Sequence[DocumentHits], path: Path) -> None:
    """Write a row for each document: what is found of each topic, then where, and how likely."""
    check_matrix(path)
    rows: dict[str, dict[str, Any]] = {}
    topics = list(dict.fromkeys(cell.topic for cell in cells))
    taken = {"doc_id", *(_name(topic, field) for topic in topics for field in _FIELDS)}
    for cell in cells:
        row = rows.setdefault(cell.doc_id, {"doc_id": cell.doc_id})
        near = cell.nearest
        own = cell.probability, near and near.text, near and near.start
        row[_found(cell.topic, taken)] = cell.finding
        row |= {_name(cell.topic, field): it for field, it in zip(_FIELDS, own, strict=False)}
        if near and "section" in near.metadata:
            row[_name(cell.topic, "section")] = near.metadata["section"]
    columns = [Column(name, "text") for name in ("doc_id", *(_found(one, taken) for one in topics))]
    with replacing(path) as part:
        WRITERS[path.suffix.lower()](collected(rows.values(), columns), part)


def _found(topic: str | None, taken: Collection[str]) -> str:
    """The column of what is found of a topic: its name, unless another column has that."""
    return f"{topic}: finding" if topic in taken else topic or "finding"


def _name(topic: str | None, field: str) -> str:
    return f"{topic} {field}" if topic else field
