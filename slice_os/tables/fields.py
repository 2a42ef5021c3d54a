"""The fields of a dataclass as columns of a table, and back from JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

import orjson

from slice_os.errors import InputError

Kind: TypeAlias = Literal["text", "integer", "real", "flag", "texts"]
"""Type of a column's cells; ``texts`` is a list of texts in each."""

_TIMES = ("start_time", "end_time")
_KINDS: dict[Any, Kind] = {str: "text", int: "integer", float: "real", bool: "flag"}


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, with dots where records are nested, and the kind of its cells."""

    name: str
    kind: Kind


@cache
def type_hints(kind: type) -> dict[str, Any]:
    """The types of a dataclass's fields."""
    return get_type_hints(kind)


def columns_of(hints: Iterable[tuple[str, Any]]) -> Iterator[Column]:
    """The columns of typed fields; nested dataclasses give several, open mappings none."""
    for name, hint in hints:
        kind = _required(hint)
        if is_dataclass(kind) and isinstance(kind, type):
            inner = type_hints(kind)
            yield from columns_of((f"{name}.{one.name}", inner[one.name]) for one in fields(kind))
        elif get_origin(kind) is tuple:
            yield Column(name, "texts")
        elif kind in _KINDS:
            yield Column(name, _KINDS[kind])


def decoded(hint: Any, value: Any) -> Any:
    """Convert a JSON value to a type: a scalar, dataclass, tuple or mapping, or None.

    Raises a `TypeError` if the value is of another type.
    """
    kind = _required(hint)
    if value is None and kind is not hint:
        return None
    if is_dataclass(kind) and isinstance(kind, type):
        inner = type_hints(kind)
        return kind(**{name: decoded(inner[name], one) for name, one in dict(value).items()})
    if get_origin(kind) is tuple:
        first, *others = get_args(kind)
        kinds = [first] * len(value) if others == [...] else [first, *others]
        return tuple(decoded(*both) for both in zip(kinds, value, strict=True))
    if kind is float and type(value) is int:
        return float(value)
    expected = get_origin(kind) or kind
    if not isinstance(value, expected) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{value!r:.40} is not of type {getattr(expected, '__name__', expected)}")
    return value


def flattened(record: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a nested record, their names joined by dots."""
    for name, value in record.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def paired(texts: Sequence[str]) -> str:
    """Two texts that belong together as one, for people."""
    return " ↔ ".join(texts)


def shown(name: str, value: Any) -> str:
    """The value of a field for people; times of turns as a clock has them: 4:43, or 1:02:03."""
    if name not in _TIMES or isinstance(value, (str, bool)):
        return str(value)
    minutes, seconds = divmod(max(0, int(value)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def json_object(line: bytes, where: str) -> dict[str, Any]:
    """Read a line of JSON as an object, or raise an InputError that names its place."""
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{where}: not valid JSON ({error})") from None
    if not isinstance(row, dict):
        raise InputError(f"{where}: no JSON object")
    return row


def _required(hint: Any) -> Any:
    """A type without "or None"."""
    if get_origin(hint) not in (Union, UnionType):
        return hint
    kinds = [one for one in get_args(hint) if one is not NoneType]
    return kinds[0] if len(kinds) == 1 else hint
