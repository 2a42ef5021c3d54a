"""Topics as tables of TOML files and JSON: their keys, what the values may be, and their text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields
from datetime import date
from typing import Any, TypeVar

from slice_os.errors import InputError
from slice_os.query.filter_values import parse_number
from slice_os.query.filters import IN, Condition
from slice_os.records import usable
from slice_os.text.documents import Scalar, field_text
from slice_os.topics.combination import Combination, Length, Part
from slice_os.topics.topic import Learned, Topic

NAME = r"[A-Za-z0-9À-ÖØ-öø-ɏ](?: ?[A-Za-z0-9À-ÖØ-öø-ɏ_-]){0,99}"
"""The name of a topic, which is also the name of a file."""

Table = Mapping[str, Any]
T = TypeVar("T", Topic, Learned, Combination, Part)


def read_table(table: Table, name: str) -> tuple[Topic | None, list[str]]:
    """A topic as far as its table can be used, and everything that is wrong with the table.

    The table has keys and values as in a topic file; ``name`` is for a table without one.
    """
    problems: list[str] = []
    values = usable({"name": name, **table}, problems, Topic, Combination, combination=None)
    given = [key for key in ("threshold", "min_probability", "precision") if key in values]
    if len(given) > 1:
        problems.append(f"{' and '.join(given)}: give one of them")
    values.setdefault("name", name)
    if not re.fullmatch(NAME, values["name"]):
        told = "give letters, digits, -, _ and single spaces only"
        problems.append(f"name {values['name']!r}: {told}")
    combined = {one.name: values.pop(one.name) for one in fields(Combination) if one.name in values}
    if combined:
        values["combination"] = Combination(**combined)
        problems += _of_phrases_alone(values)
    elif not values.get("phrases") and not any(text.startswith("phrases") for text in problems):
        problems.append("phrases is empty; give at least one")
    return Topic(**values), problems


def _of_phrases_alone(values: Mapping[str, Any]) -> Iterator[str]:
    """Faults in the other keys of a combined topic."""
    kept = {"name", "description", "where", "must_match", "must_not_match", "combination"}
    for key in values.keys() - kept:
        yield f"{key}: a combined topic has none; its topics have them"
    if not values["combination"].parts:
        yield "per: of what? give all, any or none"


def topic_table(topic: Topic) -> dict[str, Any]:
    """The keys and values of a topic that are not the usual ones, as plain JSON types.

    Raises an `InputError` if its conditions are none that a table can have.
    """
    table = _unusual(topic, Topic(""))
    if (combination := table.pop("combination", None)) is not None:
        table |= _unusual(combination, Combination())
        for key in table.keys() & {"all", "any", "none"}:
            table[key] = [_part_table(part) for part in table[key]]
    if topic.where:
        table["where"] = _where_table(topic.where)
    if topic.learned != Learned():
        table["learned"] = _unusual(topic.learned, Learned())
    return table


def topic_text(topic: Topic) -> str:
    """A topic as the text of a file that `read_topic` reads as the same topic.

    Raises an `InputError` as `topic_table`.
    """
    return _toml(topic_table(topic))


def learned_table(learned: Learned) -> str:
    """The ``[learned]`` table as TOML."""
    return _toml({"learned": _unusual(learned, Learned())})


def _toml(table: Table) -> str:
    import tomlkit

    document = tomlkit.document()
    for name, value in table.items():
        document[name] = toml_item(name, value)
    return tomlkit.dumps(document)


def toml_item(name: str, value: Any) -> Any:
    """The value of a key as tomlkit writes it: a list on several lines, a table on one."""
    import tomlkit

    if isinstance(value, list):
        items = tomlkit.array().multiline(True)
        items.extend(value)
        return items
    if isinstance(value, Mapping):
        own = name == "learned"
        table = tomlkit.table() if own else tomlkit.inline_table()
        table.update({key: toml_item(key, one) if own else one for key, one in value.items()})
        return table
    with suppress(ValueError):
        return date.fromisoformat(value) if name == "date" else value
    return value


def _part_table(part: Part) -> str | dict[str, Any]:
    others = _unusual(part, Part(part.topic))
    return {"topic": part.topic, **others} if others else part.topic


def _unusual(record: T, usual: T) -> dict[str, Any]:
    """The fields that differ from the usual ones; tuples are lists, and lengths are texts."""
    values = {each.name: getattr(record, each.name) for each in fields(record)}
    different = {name: one for name, one in values.items() if one != getattr(usual, name)}
    return {name: _plain(value) for name, value in different.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Length):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


def _where_table(where: Iterable[Condition]) -> dict[str, Any]:
    table: dict[str, dict[str, Any]] = {}
    for condition in where:
        operators = table.setdefault(condition.field, {})
        # A table gives the operator `eq` as `eq` and as `in`.
        name = IN if condition.operator == "eq" and "eq" in operators else condition.operator
        if name in operators:
            raise InputError(f"where: {condition.field} has {name} twice; a topic file cannot")
        values = [_scalar(value) for value in condition.values]
        operators[name] = values[0] if len(values) == 1 else values
    return {
        field: operators["eq"] if list(operators) == ["eq"] else operators
        for field, operators in table.items()
    }


def _scalar(text: str) -> Scalar:
    """The value that a filter has as this text; a number or a boolean if it is written so."""
    if text in ("true", "false"):
        return text == "true"
    number = parse_number(text)
    if number is None or (isinstance(number, int) and not -(2**63) <= number < 2**63):
        return text
    return number if field_text(number) == text else text
