"""Filters of Haystack as conditions on metadata."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from slice_os.errors import InputError, MissingExtraError
from slice_os.query.filters import Condition, parse_where

try:
    from haystack.errors import FilterError
except ImportError:
    raise MissingExtraError("Haystack", "haystack") from None

_OPERATORS = {
    "==": "eq",
    "!=": "ne",
    ">": "gt",
    ">=": "gte",
    "<": "lt",
    "<=": "lte",
    "in": "in",
    "not in": "ne",
}
_OPPOSITES = {"==": "!=", "!=": "==", "in": "not in", "not in": "in"}
_META = "meta."


def where_of(filters: dict[str, Any] | None) -> tuple[Condition, ...]:
    """The conditions of a filter, all of which must hold.

    A corpus has no other way to combine conditions. ``OR`` of values of one field is one
    condition, and so is ``NOT`` of one comparison with ``==``, ``!=``, ``in`` or ``not in``.

    Raises:
        FilterError: if the filter is malformed, or cannot be written so.
    """
    return tuple(_conditions(filters)) if filters else ()


def _conditions(filters: dict[str, Any]) -> Iterator[Condition]:
    if "field" in filters:
        yield _comparison(filters)
        return
    operator, inner = filters.get("operator"), filters.get("conditions")
    if operator not in ("AND", "OR", "NOT") or not isinstance(inner, list):
        raise FilterError(f"{filters!r:.80}: give a field, or AND, OR or NOT with conditions")
    if operator == "AND" or (operator == "OR" and len(inner) == 1):
        for each in inner:
            yield from _conditions(each)
    elif operator == "NOT" and len(inner) == 1 and inner[0].get("operator") in _OPPOSITES:
        yield _comparison({**inner[0], "operator": _OPPOSITES[inner[0]["operator"]]})
    elif operator == "OR" and (union := _union(inner)):
        yield _comparison(union)
    else:
        raise FilterError(
            f"{operator} of {len(inner)} conditions: a search takes AND, OR of values of one "
            "field, and NOT of one comparison; filter_documents takes any filter"
        )


def _union(inner: list[dict[str, Any]]) -> dict[str, Any] | None:
    """One comparison for the values of one field; None if the conditions are others."""
    if len({each.get("field") for each in inner}) != 1 or not all(
        each.get("operator") in ("==", "in") for each in inner
    ):
        return None
    values: list[Any] = []
    for each in inner:
        value = each.get("value")
        values += value if isinstance(value, list) else [value]
    return {"field": inner[0]["field"], "operator": "in", "value": values}


def _comparison(filters: dict[str, Any]) -> Condition:
    try:
        field, operator, value = filters["field"], filters["operator"], filters["value"]
        name = _OPERATORS[operator]
    except KeyError as error:
        raise FilterError(
            f"{filters!r:.80}: no {error}; give field, operator and value, and one of the "
            f"operators {', '.join(_OPERATORS)}"
        ) from None
    if not field.startswith(_META):
        raise FilterError(f"a search filters by metadata; give meta.NAME, not {field}")
    if operator in ("in", "not in") and not isinstance(value, list):
        raise FilterError(f"{field}: {operator} takes a list, not {value!r:.50}")
    try:
        (condition,) = parse_where({field.removeprefix(_META): {name: value}})
    except InputError as error:
        raise FilterError(str(error)) from None
    return condition
