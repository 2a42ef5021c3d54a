"""Metadata fields of an index, and conditions as it compares their values.

Values that an index keeps as text are looked up first, and a filter then names them exactly as
they are. So an index admits the same passages as a local store, whatever the case of a value, and
also orders numbers and dates that it keeps as text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from slice_os.errors import InputError
from slice_os.query.filter_values import parse_number, parse_time_span
from slice_os.query.filters import (
    DOCUMENT_ID,
    Condition,
    matcher,
    missing,
    tell_absent,
    unknown_field,
)
from slice_os.query.query import Where
from slice_os.stores.cluster.search.clauses import DATE, INTEGERS, KEYWORD, NUMBERS, clause, path
from slice_os.stores.cluster.search.exchange import Call, Flow, sure
from slice_os.stores.cluster.search.searches import PASSAGES, Answer, Body, pieces
from slice_os.text.documents import field_text
from slice_os.text.passage_layout import LAYOUT

# OpenSearch returns 65,535 buckets (search.max_buckets), and a filter may name 65,536 terms
# (index.max_terms_count).
MOST_VALUES = 65_000
# A query may have 1,024 clauses.
MOST_SPELLINGS = 500
# A double holds all integers below exactly.
_EXACT = 2**53
# In the mapping of integers whose type OpenSearch derived; see mappings/.
REAL = "number"
_FREQUENT = 1_000

Ask = Callable[[Sequence[Body]], Flow[list[Answer]]]


def resolve_where(index: str, location: str, where: Where, ask: Ask) -> Flow[Where]:
    """The conditions as the index compares its fields.

    Raises an `InputError` if there is no such field, or it has no values that a condition could
    compare.
    """
    if all(condition.kind for condition in where):
        return where
    mappings = yield from sure(Call("indices.get_mapping", {"index": index}))
    fields = mapped_fields(mappings[index]["mappings"]["properties"])
    resolved = []
    for condition in where:
        if condition.field == DOCUMENT_ID:
            resolved.append(replace(condition, kind=KEYWORD))
            continue
        if condition.field not in fields:
            raise unknown_field(condition, fields, location)
        typed = _typed(condition, fields[condition.field], location)
        look_up = _spelled if typed.kind == KEYWORD else _counted
        resolved.append((yield from look_up(typed, condition, location, ask)))
    return tuple(resolved)


def mapped_fields(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata fields of an index, with what its mapping says of each."""
    fields = _fields(mapping["metadata"].get("properties", {}))
    return {name: field for name, field in fields if name != LAYOUT}


def _fields(properties: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Fields with their mappings; a name with dots is a path of objects."""
    for name, field in properties.items():
        if "properties" in field:
            yield from _fields(field["properties"], f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", field


def _typed(condition: Condition, field: Mapping[str, Any], location: str) -> Condition:
    kind = str(field["type"])
    numbers = list(map(parse_number, condition.values))
    if condition.ordering:
        _check_order(condition, kind, location)
    real = field.get("fields", {}).get(REAL)
    if kind in INTEGERS and real and all(abs(number or 0) < _EXACT for number in numbers):
        return replace(condition, kind=str(real["type"]), field=f"{condition.field}.{REAL}")
    return replace(condition, kind=kind)


def _check_order(condition: Condition, kind: str, location: str) -> None:
    (value,) = condition.values
    if kind in NUMBERS:
        fits, hint = parse_number(value) is not None, "numbers; compare it with one"
    elif kind == DATE:
        fits, hint = parse_time_span(value) is not None, "dates; compare it with one"
    else:
        fits, hint = kind == KEYWORD, f"values of type {kind}; use = or !="
    if not fits:
        raise InputError(f"{location}: filter {condition}: {condition.field} has {hint}")


def _spelled(typed: Condition, condition: Condition, location: str, ask: Ask) -> Flow[Condition]:
    """The condition with those texts of its field that match it."""
    if not typed.values:
        return typed
    narrowed: list[list[Body]] = [[]]
    if typed.by_text:
        # In any case, the empty text matches nothing.
        in_any_case = [
            {"term": {path(typed): {"value": text, "case_insensitive": bool(text)}}}
            for text in typed.spellings
        ]
        narrowed = [[{"bool": {"should": some}}] for some in pieces(in_any_case, MOST_SPELLINGS)]
    answers = yield from ask([values_body(typed, clauses, MOST_VALUES) for clauses in narrowed])
    if any(answer["aggregations"]["values"]["sum_other_doc_count"] for answer in answers):
        raise InputError(
            f"{location}: filter {condition}: {condition.field} has more than {MOST_VALUES:,} "
            "values as text, too many to compare; declare its type with `slice-os index reindex "
            f"--field {condition.field}=TYPE --swap`"
        )
    texts = [text for answer in answers for text in _texts(answer)]
    found = tuple(filter(matcher(condition), texts))
    yield from _check_found(typed, condition, missing(condition, found), location, ask)
    return replace(typed, operator="ne" if typed.operator == "ne" else "eq", values=found)


def _counted(typed: Condition, condition: Condition, location: str, ask: Ask) -> Flow[Condition]:
    """The condition itself, of a field that has a type."""
    positive = replace(typed, operator="eq") if typed.operator == "ne" else typed
    (answer,) = yield from ask([values_body(typed, [clause(positive)], 1)])
    values = () if _texts(answer) else typed.values
    yield from _check_found(typed, condition, values, location, ask)
    return typed


def _check_found(
    typed: Condition, condition: Condition, values: Sequence[str], location: str, ask: Ask
) -> Flow[None]:
    """Say which values do not occur; refuse an ordering of what has no order."""
    if not values:
        return
    (answer,) = yield from ask([values_body(typed, [], _FREQUENT)])
    as_text = typed.kind == KEYWORD
    tell_absent(condition, values, _texts(answer), location, as_text=as_text)


def values_body(condition: Condition, clauses: Sequence[Body], most: int, **more: Body) -> Body:
    """The most frequent values of a field in the passages that meet some clauses."""
    values = {"terms": {"field": path(condition), "size": most}, **more}
    filters = {"bool": {"filter": [PASSAGES, *clauses]}}
    return {"size": 0, "query": filters, "aggs": {"values": values}}


def _texts(answer: Answer) -> list[str]:
    return list(map(value_of, answer["aggregations"]["values"]["buckets"]))


def value_of(bucket: Mapping[str, Any]) -> str:
    """The value of a field that a bucket counts, as text."""
    return str(bucket.get("key_as_string") or field_text(bucket["key"]))
