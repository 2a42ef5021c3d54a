"""Counts of hits: by topic, by document and by day."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from slice_os.comparing import parse_date
from slice_os.documents import field_text
from slice_os.results import Hit


@dataclass(frozen=True, slots=True)
class Tally:
    """How often a topic occurs.

    Attributes:
        topic: its name.
        place: the document or the day; empty for all of them.
        hits: number of hits.
        documents: number of documents that have one.
    """

    topic: str
    place: str
    hits: int
    documents: int


def tally(hits: Iterable[Hit], by: str, date_field: str = "date") -> list[Tally]:
    """Count hits of topics.

    Args:
        hits: of topics.
        by: ``topic``; ``document`` or ``day``, for each topic.
        date_field: metadata field of the day; hits without a date in it count for no day, ``-``.

    Returns:
        By topic; documents by falling number of hits, days in order.
    """
    counts: Counter[tuple[str, str]] = Counter()
    documents: dict[tuple[str, str], set[str]] = {}
    for hit in hits:
        place = {"document": hit.doc_id, "day": _day(hit, date_field)}.get(by, "")
        key = (hit.topic or "", place)
        counts[key] += 1
        documents.setdefault(key, set()).add(hit.doc_id)

    def order(key: tuple[str, str]) -> tuple[str, int, str]:
        return key[0], -counts[key] if by == "document" else 0, key[1]

    return [Tally(*key, counts[key], len(documents[key])) for key in sorted(counts, key=order)]


def _day(hit: Hit, field: str) -> str:
    value = hit.metadata.get(field)
    moment = None if value is None else parse_date(field_text(value))
    return "-" if moment is None else moment.date().isoformat()
