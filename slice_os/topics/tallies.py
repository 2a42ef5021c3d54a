"""Counts of hits: by topic, by document, by day or week and by the values of a field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from slice_os.query.filter_values import parse_date
from slice_os.query.filters import fold_case
from slice_os.text.documents import Scalar, field_text
from slice_os.topics.match import Found

PERIODS = ("day", "week")
TOTALS = ("topic", "phrase")


@dataclass(frozen=True, slots=True)
class Tally:
    """Number of hits of a topic, and of the documents that have one.

    Attributes:
        place: the document, the day, the Monday of the week or the value of a field; empty for all
            of them.
    """

    topic: str
    place: str
    hits: int
    documents: int


def tally(hits: Iterable[Found], by: str, date_field: str = "date") -> list[Tally]:
    """Count hits of topics.

    Args:
        hits: of topics, or matches.
        by: ``topic`` or ``phrase``; or for each of them ``document``, ``day``, ``week``, or the
            name of a metadata field.
            Values that differ in case alone are one, as in filters.
        date_field: metadata field of the day or week. Hits without a date in it, or without the
            field that they are counted by, count for ``-``.

    Returns:
        By topic; documents and values by falling number of hits, days and weeks in order.
    """
    counts: Counter[tuple[str, str]] = Counter()
    documents: dict[tuple[str, str], set[str]] = {}
    spelled: dict[str, str] = {}
    for hit in hits:
        place = _place(hit, by, date_field)
        name = place if by == "document" else fold_case(place)
        spelled[name] = max(place, spelled.get(name, ""))
        key = (hit.topic or "", name)
        counts[key] += 1
        documents.setdefault(key, set()).add(hit.doc_id)

    def order(key: tuple[str, str]) -> tuple[str, int, str]:
        return key[0], 0 if by in PERIODS else -counts[key], key[1]

    return [
        Tally(topic, spelled[name], counts[topic, name], len(documents[topic, name]))
        for topic, name in sorted(counts, key=order)
    ]


def _place(hit: Found, by: str, date_field: str) -> str:
    if by in TOTALS:
        return ""
    if by == "document":
        return hit.doc_id
    value = hit.metadata.get(date_field if by in PERIODS else by)
    return "-" if value is None else place_of(value, by)


def place_of(value: Scalar, by: str) -> str:
    """What the value of a field counts for: its day, its week's Monday, or itself."""
    if by not in PERIODS:
        return field_text(value)
    moment = parse_date(field_text(value))
    if moment is None:
        return "-"
    day = moment.date()
    return (day - timedelta(days=day.weekday() if by == "week" else 0)).isoformat()
