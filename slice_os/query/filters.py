"""Filters on metadata: conditions on the fields of the passages that a query admits.

Stores keep a value as it was given, and compare it as text, as a number or as a date, depending on
the condition. So a filter admits the same passages in every store.
"""

from __future__ import annotations

import logging
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import isfinite
from operator import ge, gt, le, lt
from typing import Any, Literal, TypeAlias

import orjson

from slice_os.errors import InputError, close_name
from slice_os.query.filter_values import (
    Number,
    parse_date,
    parse_number,
    parse_time_span,
    text_within,
)
from slice_os.text.documents import Scalar, check_text, field_text
from slice_os.threads import checkpoint

Operator: TypeAlias = Literal["eq", "ne", "lt", "lte", "gt", "gte"]
Value: TypeAlias = Scalar | date
Allowed: TypeAlias = Value | Sequence[Value] | Mapping[str, "Value | Sequence[Value]"]

SYMBOLS: Mapping[Operator, str] = {
    "eq": "=",
    "ne": "!=",
    "lt": "<",
    "lte": "<=",
    "gt": ">",
    "gte": ">=",
}
IN = "in"
# In place of a metadata field: the id of the document, exactly.
DOCUMENT_ID = "_id"
DATE = "date"
"""The metadata field of a document's date."""
_READ_AS_DATES = "ingest again with --date-field {} if these are dates"
_OPERATORS = (*SYMBOLS, IN)
_LISTED = 10
MOST_CONDITIONS, MOST_VALUES = 100, 1_000
"""Of a filter that others write: in requests and topics."""
_FOLD = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}

logger = logging.getLogger("slice_os")


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition on a metadata field; passages that meet it are admitted.

    Texts compare without the case of A to Z, numbers as numbers. A date stands for its whole
    day, month or year; without a time zone it is in UTC. ``ne`` also admits passages without the
    field.

    Attributes:
        field: of the metadata; or ``_id`` for the id of the document, which is compared exactly.
        operator: the comparison.
        values: as text; for ``eq`` the field has one of them, for ``ne`` none of them. The others
            have one value.
        kind: the type by which a store compares the field; empty until the store sets it.

    Raises an `InputError` if an ordering has a value that is neither a number nor a date, or on a
    lone surrogate.
    """

    field: str
    operator: Operator
    values: tuple[str, ...]
    kind: str = ""

    def __post_init__(self) -> None:
        for text in (self.field, *self.values):
            check_text(text, "filter")
        if not self.ordering or self.kind:
            return
        if self.field == DOCUMENT_ID:
            raise InputError(f"filter {self}: ids of documents have no order; use = or !=")
        (value,) = self.values
        number = parse_number(value)
        if number is not None and not _fits(number):
            raise InputError(f"filter {self}: an integer has 64 bits at most")
        if number is None and parse_time_span(value) is None:
            raise InputError(
                f"filter {self}: give a number, or a date such as 2026-06-01, to compare with"
            )

    @property
    def ordering(self) -> bool:
        """Whether the values of the field are compared by their order."""
        return self.operator not in ("eq", "ne")

    @property
    def by_text(self) -> bool:
        """Whether only the values' `spellings` can match."""
        return not self.ordering and all(parse_time_span(value) is None for value in self.values)

    @property
    def spellings(self) -> tuple[str, ...]:
        """The texts of the values; a number has one as an integer and one as a float."""
        return tuple(dict.fromkeys(text for value in self.values for text in _spellings(value)))

    def __str__(self) -> str:
        return f"{self.field} {SYMBOLS[self.operator]} {', '.join(self.values)}"


Filter: TypeAlias = Mapping[str, Allowed] | Sequence[Condition]


def parse_where(where: Mapping[str, Allowed] | Iterable[Condition] | None) -> tuple[Condition, ...]:
    """The conditions of a filter, all of which must hold.

    Args:
        where: fields, each with the value or values that it may have, or with operators and their
            values, as in ``{"csat": {"gte": 3}, "domain": ["airline", "bank"]}``; or conditions.

    Raises an `InputError` on an unknown form or operator, or a value that no metadata can have.
    """
    if where is None:
        return ()
    if not isinstance(where, Mapping):
        conditions = tuple(where) if isinstance(where, Iterable) else (where,)
        if all(isinstance(each, Condition) for each in conditions):
            return conditions
        raise InputError(f"filter {where!r}: give fields and values, as in {{'domain': 'bank'}}")
    return tuple(
        _condition(field, name, value)
        for field, allowed in where.items()
        for name, value in _operators(field, allowed)
    )


def check_size(where: Mapping[str, Any]) -> None:
    """Refuse a filter with more than `MOST_CONDITIONS` or `MOST_VALUES`, by an InputError."""
    allowed = [
        one
        for given in where.values()
        for one in (given.values() if isinstance(given, Mapping) else (given,))
    ]
    values = sum(len(one) if isinstance(one, (list, tuple)) else 1 for one in allowed)
    if len(allowed) > MOST_CONDITIONS or values > MOST_VALUES:
        raise InputError(
            f"filter: {len(allowed):,} conditions with {values:,} values; give "
            f"{MOST_CONDITIONS} with {MOST_VALUES:,} at most"
        )


def matcher(condition: Condition) -> Callable[[str], bool]:
    """A test whether a value, as text, meets a condition; for ``ne``, whether to exclude it."""
    if condition.ordering:
        return _ordering(condition)
    texts = {fold_case(text) for text in condition.spellings}
    days = [day for value in condition.values if (day := parse_time_span(value)) is not None]
    return lambda text: fold_case(text) in texts or any(text_within(text, day) for day in days)


def missing(condition: Condition, found: Iterable[str]) -> tuple[str, ...]:
    """The values of a condition that do not occur among the texts that match it."""
    texts = list(found)
    if condition.ordering:
        return () if texts else condition.values
    folded = set(map(fold_case, texts))

    def occurs(value: str) -> bool:
        checkpoint()
        day = parse_time_span(value)
        return not folded.isdisjoint(map(fold_case, _spellings(value))) or (
            day is not None and any(text_within(text, day) for text in texts)
        )

    return tuple(value for value in condition.values if not occurs(value))


def unknown_field(condition: Condition, fields: Iterable[str], location: object) -> InputError:
    """The error for a field that a store does not have; it names those that it has."""
    there = sorted(fields)
    dated = "; documents get a date by --date-field or --time-field of ingest"
    close = close_name(condition.field, there)
    hint = f" (did you mean {close!r}?)" if close else ""
    return InputError(
        f"{location}: no metadata field {condition.field!r}{hint}; there "
        f"{'are ' + _listing(there) if there else 'is no metadata'}"
        f"{dated if condition.field == DATE else ''}"
    )


def without_dates(field: str, texts: Sequence[str], location: object) -> InputError:
    """The error for a field that should have dates and has none."""
    return InputError(
        f"{location}: {field} has no dates, but {_listing(texts)}; {_READ_AS_DATES.format(field)}"
    )


def tell_absent(
    condition: Condition,
    values: Sequence[str],
    frequent: Sequence[str],
    location: object,
    *,
    as_text: bool = True,
) -> None:
    """Log the values of a condition that do not occur, and near or frequent ones that do.

    Raises an `InputError` on an ordering of a field with values as text, if none of the frequent
    ones is a number or a date.
    """
    comparable = (parse_number(text) is not None or parse_date(text) for text in frequent)
    if as_text and condition.ordering and not any(comparable):
        raise InputError(
            f"{location}: filter {condition}: {condition.field} has no numbers or dates to "
            f"compare, but {_listing(frequent)}; use = or !=, or "
            f"{_READ_AS_DATES.format(condition.field)}"
        )
    told = str(condition) if condition.ordering else f"{condition.field} {_listing(values)}"
    by_folded = {text.casefold(): text for text in reversed(frequent)}
    close = [
        by_folded[found]
        for value in values[:_LISTED]
        if (found := close_name(value.casefold(), by_folded))
    ]
    hint = "; the nearest is " + _listing(close) if close else f"; there are {_listing(frequent)}"
    logger.warning("%s: no passage has %s%s", location, told, hint)


def _operators(field: object, allowed: object) -> Iterable[tuple[str, object]]:
    if not isinstance(allowed, Mapping):
        return (("eq", allowed),)
    if not allowed:
        raise InputError(f"filter on {field!r}: no operator; give one and its value")
    return allowed.items()


def _condition(field: object, name: str, value: object) -> Condition:
    if not isinstance(field, str):
        raise InputError(f"filter on {field!r}: the name of a field is a string")
    if name not in _OPERATORS:
        close = close_name(str(name), _OPERATORS)
        hint = f" (did you mean {close!r}?)" if close else ""
        raise InputError(
            f"filter on {field!r}: no operator {name!r}{hint}; there are {', '.join(_OPERATORS)}"
        )
    operator: Operator = "eq" if name == IN else name  # type: ignore[assignment]
    several = isinstance(value, (list, tuple, set, frozenset))
    if several and operator not in ("eq", "ne"):
        raise InputError(f"filter on {field!r}: {name} takes one value, not {reprlib.repr(value)}")
    values = value if several else (value,)
    return Condition(field, operator, tuple(_text(each, field) for each in values))  # type: ignore[attr-defined]


def _text(value: object, field: str) -> str:
    if isinstance(value, date):
        return value.isoformat()
    number = isinstance(value, (int, float)) and _fits(value) and isfinite(value)
    if not number and not isinstance(value, str):
        raise InputError(
            f"filter on {field!r}: {reprlib.repr(value)} is no value of a field; give a string, "
            "a boolean, a date, a finite number or an integer of 64 bits"
        )
    return field_text(value)  # type: ignore[arg-type]


def _ordering(condition: Condition) -> Callable[[str], bool]:
    (value,) = condition.values
    number, span = parse_number(value), parse_time_span(value)
    compare = {"lt": lt, "lte": le, "gt": gt, "gte": ge}[condition.operator]
    # A value within the span of time is neither before nor after it.
    after = condition.operator in ("gt", "gte")
    to_end = condition.operator in ("gt", "lte")

    def matches(text: str) -> bool:
        found = parse_number(text)
        if number is not None and found is not None:
            return bool(compare(found, number))
        moment = None if span is None else parse_date(text)
        if moment is None or span is None:
            return False
        edge = span.end if to_end else span.start
        return moment >= edge if after else moment < edge

    return matches


def _spellings(value: str) -> list[str]:
    number = parse_number(value)
    if number is None or not _fits(number) or orjson.dumps(number).decode() != value:
        return [value]
    same: list[Number] = [float(number), 0.0, -0.0]
    if float(number).is_integer() and _fits(int(number)):
        same.append(int(number))
    return [value, *(orjson.dumps(each).decode() for each in same if each == number)]


def _fits(number: Number) -> bool:
    """Whether a number is a float, or an integer of at most 64 bits."""
    return isinstance(number, float) or -(2**63) <= number < 2**63


def fold_case(text: str) -> str:
    """A text with A to Z in lower case, as SQLite and OpenSearch fold it."""
    return text.translate(_FOLD)


def value_key(text: str) -> str:
    """What values have in common that are equal to a filter: their case, the form of a number."""
    return fold_case(_spellings(text)[-1])


def _listing(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(map(repr, names[:_LISTED])) + more
