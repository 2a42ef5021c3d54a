"""Counts of hits: by topic, by document, by day or week and by the values of a field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass
from datetime import timedelta

from slice_os.hits.hit import Hit
from slice_os.query.filter_values import parse_date
from slice_os.text.documents import Scalar, field_text
from slice_os.topics.labels import Place
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
        date_field: metadata field of the day or week. Hits without a date in it, or without the
            field that they are counted by, count for ``-``.

    Returns:
        By topic; documents and values by falling number of hits, days and weeks in order.
    """
    counts: Counter[tuple[str, str]] = Counter()
    documents: dict[tuple[str, str], set[str]] = {}
    for hit in hits:
        key = (hit.topic or "", _place(hit, by, date_field))
        counts[key] += 1
        documents.setdefault(key, set()).add(hit.doc_id)

    def order(key: tuple[str, str]) -> tuple[str, int, str]:
        return key[0], 0 if by in PERIODS else -counts[key], key[1]

    return [Tally(*key, counts[key], len(documents[key])) for key in sorted(counts, key=order)]


def expected_documents(hits: Iterable[Hit], accepted: Container[Place]) -> float:
    """About how many documents say it: of each, the likeliest hit counts with its probability.

    What people accepted is sure, and so is a hit without a probability.
    """
    shares: dict[str, float] = {}
    for hit in hits:
        sure = hit.probability is None or place_of_span(hit) in accepted
        share = 1.0 if sure else hit.probability or 0.0
        shares[hit.doc_id] = max(share, shares.get(hit.doc_id, 0.0))
    return sum(shares.values())


def place_of_span(hit: Hit) -> Place:
    """Where the words of a hit are that scored, however wide it is."""
    span = hit.span or hit
    return hit.doc_id, span.start, span.end


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
