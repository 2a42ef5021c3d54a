"""Clauses of OpenSearch's query language for conditions on metadata; pure functions."""

from __future__ import annotations

from math import ceil, floor
from typing import Any

from slice_os.query.filter_values import Number, parse_number, parse_time_span
from slice_os.query.filters import DOCUMENT_ID, Condition

KEYWORD = "keyword"
DATE = "date"
# Ranges of OpenSearch's types; it refuses numbers beyond them.
INTEGERS = {"integer": 2**31, "long": 2**63}
REALS = ("double", "float", "half_float", "scaled_float")
NUMBERS = (*INTEGERS, *REALS)

# Lucene takes -0.0 for less than 0.0.
_ZEROS = (0.0, -0.0)
_NOTHING: dict[str, Any] = {"match_none": {}}


def path(condition: Condition) -> str:
    """The field of an index that a condition is on."""
    if condition.field == DOCUMENT_ID:
        return "doc_id"
    return f"metadata.{condition.field}"


def clause(condition: Condition) -> dict[str, Any]:
    """The clause for a condition whose ``kind`` is the type of its field."""
    positive = _matching(condition)
    return {"bool": {"must_not": [positive]}} if condition.operator == "ne" else positive


def _matching(condition: Condition) -> dict[str, Any]:
    if condition.kind == DATE:
        return _dates(condition)
    if condition.ordering:
        return _ordering(condition)
    values: list[Any] = list(condition.values)
    if condition.kind in NUMBERS:
        values = [n for value in values if (n := parse_number(value)) is not None]
    if condition.kind in REALS and 0 in values:
        values += _ZEROS
    if condition.kind in INTEGERS:
        limit = INTEGERS[condition.kind]
        values = [int(n) for n in values if n == floor(n) and -limit <= n < limit]
    if condition.kind == "boolean":
        values = [text for text in map(str.lower, values) if text in ("true", "false")]
    return {"terms": {path(condition): values}}


def _ordering(condition: Condition) -> dict[str, Any]:
    bound: Number = parse_number(condition.values[0]) or 0
    operator: str = condition.operator
    if condition.kind in INTEGERS:
        # Whole numbers above 2.5 are those from 3 on.
        operator = "gte" if condition.operator in ("gt", "gte") else "lte"
        steps = {"gt": floor(bound) + 1, "gte": ceil(bound), "lt": ceil(bound) - 1}
        bound = steps.get(condition.operator, floor(bound))
        limit = INTEGERS[condition.kind]
        if bound >= limit if operator == "gte" else bound < -limit:
            return _NOTHING
        bound = max(-limit, min(bound, limit - 1))
    elif bound == 0:
        bound = -0.0 if operator in ("gte", "lt") else 0.0
    return {"range": {path(condition): {operator: bound}}}


def _dates(condition: Condition) -> dict[str, Any]:
    spans = [span for value in condition.values if (span := parse_time_span(value)) is not None]
    if not condition.ordering:
        within = [
            {"range": {path(condition): {"gte": _time(span.start), "lt": _time(span.end)}}}
            for span in spans
        ]
        return {"bool": {"should": within}} if within else _NOTHING
    (span,) = spans
    bounds = {
        "gt": {"gte": span.end},
        "gte": {"gte": span.start},
        "lt": {"lt": span.start},
        "lte": {"lt": span.end},
    }
    limits = {name: _time(moment) for name, moment in bounds[condition.operator].items()}
    return {"range": {path(condition): limits}}


def _time(moment: Any) -> str:
    return str(moment.isoformat(timespec="milliseconds"))
