"""Counts of hits: by topic, by document, by period and by the values of a field; unusual rates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from statistics import fmean, pstdev
from typing import TYPE_CHECKING

from slice_os.errors import InputError
from slice_os.query.filter_values import parse_date
from slice_os.query.filters import DATE, value_key
from slice_os.text.documents import Scalar, field_text
from slice_os.topics.match import Found

if TYPE_CHECKING:
    from slice_os.corpus import Corpus
    from slice_os.stores.protocol import FieldValue

PERIODS = ("day", "week", "month")
TOTALS = ("topic", "phrase")
NOWHERE = "-"
# A rate is unusual by so many standard deviations of the last periods, of which it takes a few.
_DEVIATIONS = 3
_LEAST_PERIODS, _MOST_PERIODS = 4, 12


@dataclass(frozen=True, slots=True)
class Tally:
    """Number of hits of a topic, and of the documents that have one.

    Attributes:
        place: the document, the day, the Monday of the week, the month or the value of a field;
            empty for all of them.
        within: the value of a second field; empty for all of them.
    """

    topic: str
    place: str
    hits: int
    documents: int
    within: str = ""


def tally(
    hits: Iterable[Found],
    by: str,
    date_field: str = DATE,
    within: str | None = None,
    topics: Iterable[str] = (),
) -> list[Tally]:
    """Count hits of topics.

    Args:
        hits: of topics, or matches.
        by: ``topic`` or ``phrase``; or for each of them ``document``, ``day``, ``week``, ``month``,
            or the name of a metadata field.
            Values that are equal in filters are one, such as Bank and bank, 3 and 3.0.
        date_field: metadata field of the period. Hits without a date in it, or without the field
            that they are counted by, count for ``-``.
        within: a metadata field whose values are counted each by itself, too.
        topics: counted by ``topic`` or ``phrase``, these have a row even without a hit.

    Returns:
        By topic; documents and values by falling number of hits, periods in order.
    """
    whole = by in TOTALS and within is None
    counts = Counter({(topic, "", ""): 0 for topic in topics if whole})
    documents: dict[tuple[str, str, str], set[str]] = {key: set() for key in counts}
    spelled = {"": ""}

    def name_of(place: str, by: str) -> str:
        name = place if by == "document" else value_key(place)
        spelled[name] = max(place, spelled.get(name, ""))
        return name

    for hit in hits:
        name = name_of(_place(hit, by, date_field), by)
        other = name_of(_value(hit, within), "") if within else ""
        key = (hit.topic or "", name, other)
        counts[key] += 1
        documents.setdefault(key, set()).add(hit.doc_id)

    def order(key: tuple[str, str, str]) -> tuple[str, int, str, str]:
        return key[0], 0 if by in PERIODS else -counts[key], key[1], key[2]

    return [
        Tally(key[0], spelled[key[1]], counts[key], len(documents[key]), spelled[key[2]])
        for key in sorted(counts, key=order)
    ]


def _place(hit: Found, by: str, date_field: str) -> str:
    if by in TOTALS:
        return ""
    if by == "document":
        return hit.doc_id
    value = _value(hit, date_field if by in PERIODS else by)
    return NOWHERE if value == NOWHERE else place_of(value, by)


def _value(hit: Found, field: str) -> str:
    value = hit.metadata.get(field)
    return NOWHERE if value is None else field_text(value)


def place_of(value: Scalar, by: str) -> str:
    """The key of a field's value: its day, its week's Monday, its month, or itself."""
    if by not in PERIODS:
        return field_text(value)
    moment = parse_date(field_text(value))
    if moment is None:
        return NOWHERE
    day = moment.date()
    if by == "month":
        return day.isoformat()[:7]
    return (day - timedelta(days=day.weekday() if by == "week" else 0)).isoformat()


def counted_values(
    corpus: Corpus, by: str, limit: int | None = None, others: Sequence[str] = ()
) -> list[FieldValue]:
    """The values of a field that hits are counted by; see `Corpus.field_values`.

    If no passage has it, the `InputError` tells what else, and ``others``, there is to count by.
    """
    try:
        return corpus.field_values(by, limit)
    except InputError as error:
        known = ", ".join((*others, "document", *PERIODS))
        raise InputError(f"{error}; or count by {known}") from None


def documents_by(corpus: Corpus, by: str, date_field: str = DATE) -> dict[str, int]:
    """The number of all documents of a store in each period, or by field value.

    Empty if it would be by dates, and the store has none.

    Raises an `InputError` if no passage has another field.
    """
    field = date_field if by in PERIODS else by
    if by == "document" or (field == DATE and field not in corpus.fields()):
        return {}
    found: Counter[str] = Counter()
    values = corpus.field_values(field, None) if by in PERIODS else counted_values(corpus, by)
    for value in values:
        found[value_key(place_of(value.value, by))] += value.documents
    return found


@dataclass(frozen=True, slots=True)
class Alert:
    """A topic whose rate in the last period is out of its usual range.

    Attributes:
        place: the period.
        rate: share of the documents in it that have a hit.
        low: least usual rate, by the periods before.
        high: greatest usual rate.
    """

    topic: str
    place: str
    rate: float
    low: float
    high: float

    def __str__(self) -> str:
        """The rates of 100 documents, in a line."""
        low, high, rate = (f"{100 * one:.1f}" for one in (self.low, self.high, self.rate))
        return f"{self.topic}: {rate} of 100 documents in {self.place}, usually {low} to {high}"


def alerts(rows: Sequence[Tally], everywhere: Mapping[str, int]) -> list[Alert]:
    """The topics whose rate in the last period of a store is unusual; none in its first periods.

    The usual range is three standard deviations around the mean of up to twelve periods before,
    and at least what chance alone does to so many documents.
    """
    periods = sorted(place for place, of in everywhere.items() if of and place != NOWHERE)
    *before, last = periods[-_MOST_PERIODS - 1 :] or [""]
    if len(before) < _LEAST_PERIODS:
        return []
    found = []
    for topic in dict.fromkeys(row.topic for row in rows):
        counts = {row.place: row.documents for row in rows if row.topic == topic}
        rates = [counts.get(place, 0) / everywhere[place] for place in before]
        usual = fmean(rates)
        # One document more and less, so that a topic that nobody named varies, too.
        number = sum(everywhere[place] for place in before)
        likely = (usual * number + 1) / (number + 2)
        chance = (likely * (1 - likely) / everywhere[last]) ** 0.5
        far = _DEVIATIONS * max(pstdev(rates), chance)
        rate = counts.get(last, 0) / everywhere[last]
        if abs(rate - usual) > far:
            found.append(Alert(topic, last, rate, max(0.0, usual - far), min(1.0, usual + far)))
    return found
