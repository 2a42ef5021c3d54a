"""Counts of hits: by topic, by document, by day and by the values of a field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from slice_os.hits.hit import Hit
from slice_os.query.filter_values import parse_date
from slice_os.text.documents import field_text


@dataclass(frozen=True, slots=True)
class Tally:
    """Number of hits of a topic, and of the documents that have one.

    Attributes:
        place: the document, the day or the value of a field; empty for all of them.
    """

    topic: str
    place: str
    hits: int
    documents: int


def tally(hits: Iterable[Hit], by: str, date_field: str = "date") -> list[Tally]:
    """Count hits of topics.

    Args:
        hits: of topics.
        by: ``topic``; or for each topic ``document``, ``day``, or the name of a metadata field.
        date_field: metadata field of the day. Hits without a date in it, or without the field
            that they are counted by, count for ``-``.

    Returns:
        By topic; documents and values by falling number of hits, days in order.
    """
    counts: Counter[tuple[str, str]] = Counter()
    documents: dict[tuple[str, str], set[str]] = {}
    for hit in hits:
        key = (hit.topic or "", _place(hit, by, date_field))
        counts[key] += 1
        documents.setdefault(key, set()).add(hit.doc_id)

    def order(key: tuple[str, str]) -> tuple[str, int, str]:
        return key[0], 0 if by == "day" else -counts[key], key[1]

    return [Tally(*key, counts[key], len(documents[key])) for key in sorted(counts, key=order)]


def _place(hit: Hit, by: str, date_field: str) -> str:
    if by == "topic":
        return ""
    if by == "document":
        return hit.doc_id
    value = hit.metadata.get(date_field if by == "day" else by)
    if value is None or by != "day":
        return "-" if value is None else field_text(value)
    moment = parse_date(field_text(value))
    return "-" if moment is None else moment.date().isoformat()
