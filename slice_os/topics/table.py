"""Topics as tables of TOML files and JSON: their keys, what the values may be, and their text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from datetime import date
from typing import Any

import orjson

from slice_os.errors import InputError, nearest_name
from slice_os.query.filter_values import parse_number
from slice_os.query.filters import IN, Condition, check_size, parse_where
from slice_os.query.options import UNITS
from slice_os.text.documents import Scalar, check_text, field_text
from slice_os.topics.combination import Combination, part_table, read_parts
from slice_os.topics.topic import Learned, Topic

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
NAME = r"[A-Za-z0-9À-ÖØ-öø-ɏ](?: ?[A-Za-z0-9À-ÖØ-öø-ɏ_-]){0,99}"
"""The name of a topic, which is also the name of a file."""

LONGEST_TEXT, MOST_TEXTS = 10_000, 1_000
"""Characters of a text of a topic, and the most texts in each of its lists."""

Table = Mapping[str, Any]


def read_table(table: Table, name: str) -> tuple[Topic | None, list[str]]:
    """A topic as far as its table can be used, and everything that is wrong with the table.

    The table has keys and values as in a topic file; ``name`` is for a table without one.
    """
    problems: list[str] = []
    values = _checked(table, _KEYS, "", problems)
    given = [key for key in ("threshold", "min_probability", "precision") if key in values]
    if len(given) > 1:
        problems.append(f"{' and '.join(given)}: give one of them")
    if isinstance(learned := table.get("learned"), dict):
        values["learned"] = Learned(**_checked(learned, _LEARNED_KEYS, "learned.", problems))
    values.setdefault("name", name)
    if not re.fullmatch(NAME, values["name"]):
        told = "give letters, digits, -, _ and single spaces only"
        problems.append(f"name {values['name']!r}: {told}")
    combined = {key: values.pop(key) for key in _COMBINED if key in values}
    if combined:
        values["combination"] = Combination(**combined)
        problems += _of_phrases_alone(values)
    elif not values.get("phrases") and not any(text.startswith("phrases") for text in problems):
        problems.append("phrases is empty; give at least one")
    return Topic(**values), problems


def _of_phrases_alone(values: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the other keys of a combined topic."""
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
            table[key] = [part_table(part) for part in table[key]]
    if topic.where:
        table["where"] = _where_table(topic.where)
    if topic.learned != Learned():
        table["learned"] = _unusual(topic.learned, Learned())
    return table


def topic_text(topic: Topic) -> str:
    """A topic as the text of a file that `read_topic` reads as the same topic.

    Raises an `InputError` as `topic_table`.
    """
    table = topic_table(topic)
    learned = table.pop("learned", {})
    text = _lines(table)
    return f"{text}\n{learned_table(topic.learned)}" if learned else text


def learned_table(learned: Learned) -> str:
    """The ``[learned]`` table as TOML."""
    table = topic_table(Topic("", learned=learned)).get("learned", {})
    return f"[learned]\n{_lines(table)}"


def _unusual(
    record: Topic | Learned | Combination, usual: Topic | Learned | Combination
) -> dict[str, Any]:
    """The fields that differ from the usual ones; tuples are lists."""
    values = {each.name: getattr(record, each.name) for each in fields(record)}
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in values.items()
        if value != getattr(usual, name)
    }


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


def _checked(
    table: Table, keys: Mapping[str, Callable[[Any], Any]], prefix: str, problems: list[str]
) -> dict[str, Any]:
    """The values of a table that can be used."""
    values = {}
    for name, value in table.items():
        if name not in keys:
            problems.append(f"unknown key {prefix}{name}; {nearest_name(name, keys)}")
            continue
        try:
            values[name] = keys[name](value)
        except InputError as error:
            problems.append(f"{prefix}{name}: {error}")
    return values


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise InputError(f"{value!r} is no string; put it between quotation marks")
    if len(value) > LONGEST_TEXT:
        raise InputError(f"a text of {len(value):,} characters; {LONGEST_TEXT:,} are the most")
    check_text(value, "text")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise InputError(f"{value!r} is no list; put it between brackets")
    if len(value) > MOST_TEXTS:
        told = "make several topics of them, and combine these"
        raise InputError(f"{len(value):,} texts; {MOST_TEXTS:,} are the most: {told}")
    for item in value:
        if not _text(item).strip():
            raise InputError("one of the texts is empty; write it or delete it")
    return tuple(value)


def _number(least: float, most: float) -> Callable[[Any], float]:
    def check(value: Any) -> float:
        if type(value) not in (int, float) or not least <= value <= most:
            raise InputError(f"{value!r}: give a number from {least:g} to {most:g}")
        return float(value)

    return check


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise InputError(f"{value!r}: give a whole number")
    return value


def _unit(value: Any) -> str:
    if value not in UNITS:
        raise InputError(f"{value!r}: give {', '.join(UNITS[:-1])} or {UNITS[-1]}")
    return str(value)


def _where(value: Any) -> tuple[Condition, ...]:
    if not isinstance(value, dict):
        raise InputError(f'{value!r}: give fields and their values, as where = {{domain = "bank"}}')
    check_size(value)
    return parse_where(value)


def _day(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else _text(value)


def _table(value: Any) -> Learned:
    if not isinstance(value, dict):
        raise InputError(f"{value!r} is no table; write [learned]")
    return Learned()


def _lines(table: Mapping[str, Any]) -> str:
    return "".join(f"{name} = {_written(name, value)}\n" for name, value in table.items())


def _written(name: str, value: Any) -> str:
    if isinstance(value, list):
        return "".join(["[\n", *(f"  {_value(item)},\n" for item in value), "]"])
    return str(value) if name == "date" and _is_date(value) else _value(value)


def _value(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, Mapping):
        keys = [name if _BARE_KEY.fullmatch(name) else _string(name) for name in value]
        values = map(_value, value.values())
        return (
            f"{{ {', '.join(f'{key} = {each}' for key, each in zip(keys, values, strict=True))} }}"
        )
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return _string(value) if isinstance(value, (str, bool)) else repr(value)


def _string(text: str | bool) -> str:
    return orjson.dumps(text).decode().replace("\x7f", "\\u007f")


def _is_date(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


_KEYS: dict[str, Callable[[Any], Any]] = {
    "name": _text,
    "description": _text,
    "phrases": _texts,
    "counter_phrases": _texts,
    "where": _where,
    "threshold": _number(-1, 1),
    "min_probability": _number(0, 1),
    "precision": _number(0, 1),
    "unit": _unit,
    "verifier": _text,
    "must_match": _texts,
    "must_not_match": _texts,
    "learned": _table,
    "per": _text,
    "all": read_parts,
    "any": read_parts,
    "none": read_parts,
}
_COMBINED = ("per", "all", "any", "none")
_LEARNED_KEYS: dict[str, Callable[[Any], Any]] = {
    "threshold": _number(-1, 1),
    "phrases": _texts,
    "counter_phrases": _texts,
    "offset": _number(-1e6, 1e6),
    "scale": _number(-1e6, 1e6),
    "labels": _count,
    "right": _count,
    "date": _day,
}
