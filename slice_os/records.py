"""Values of JSON and TOML as dataclasses: keys, types and bounds are checked here, nowhere else.

The type of a field says what it takes; ``Annotated`` adds a `Bound`, or a `Reader` of a notation,
and what is for others, such as the words of a command line.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache, partial
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from slice_os.errors import InputError, nearest_name

T = TypeVar("T")

_WORDS: Mapping[type, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    Path: "a path",
}
_MOST_BITS = 1_000


@dataclass(frozen=True, slots=True)
class Bound:
    """A demand on a value, as a test and in words; in a list, on each value.

    A command line shows the least and the most of numbers, and the choices of texts.
    """

    fits: Callable[[Any], Any]
    wanted: str
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()

    def check(self, name: str, value: Any) -> None:
        """Raise an `InputError` if a value does not fit."""
        for one in value if isinstance(value, (list, tuple)) else (value,):
            if one is not None and not self.fits(one):
                raise InputError(f"{name} is {one!r:.50}; give {self.wanted}")


@dataclass(frozen=True, slots=True)
class Reader:
    """Gives the value of a field, or says by an `InputError` what to give."""

    read: Callable[[Any], Any]


def at_least(least: float) -> Bound:
    """The bound of numbers that are not below another one."""
    return Bound(lambda value: value >= least, f"{least:,} or more", least)


def between(least: float, most: float) -> Bound:
    """The bound of numbers from one to another."""
    words = f"a number from {least:,} to {most:,}"
    return Bound(lambda value: least <= value <= most, words, least, most)


def one_of(choices: Sequence[str]) -> Bound:
    """The bound of texts that are among these."""
    return Bound(choices.__contains__, ", ".join(choices), choices=tuple(choices))


ABOVE_0 = Bound(lambda value: value > 0, "a number above 0")
FILLED = Bound(str.strip, "a text")
Positive: TypeAlias = Annotated[float, ABOVE_0]
NotNegative: TypeAlias = Annotated[float, at_least(0)]
Natural: TypeAlias = Annotated[int, at_least(0)]
Count: TypeAlias = Annotated[int, at_least(1)]
Text: TypeAlias = Annotated[
    str, Bound(lambda text: len(text) <= 10_000, "10,000 characters at most")
]


@cache
def type_hints(kind: type) -> dict[str, Any]:
    """The types of a dataclass's fields, without what `Annotated` adds."""
    return get_type_hints(kind)


def required(hint: Any) -> Any:
    """A type without None."""
    kinds = [one for one in get_args(hint) if one is not NoneType]
    optional = get_origin(hint) in (Union, UnionType) and len(kinds) == 1
    return kinds[0] if optional else hint


@cache
def _fields(*kinds: Any) -> tuple[dict[str, Any], list[str]]:
    """The types of the fields of dataclasses, and those to which a value has to be given."""
    hints: dict[str, Any] = {}
    known = {one.name: one for kind in kinds for one in fields(kind)}
    for kind in kinds:
        hints |= get_type_hints(kind, include_extras=True)
    needed = [n for n, f in known.items() if f.default is MISSING and f.default_factory is MISSING]
    return {name: hints[name] for name in known}, needed


def known(kind: type, table: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a table that is for the fields of a dataclass."""
    return {name: table[name] for name in _fields(kind)[0] if name in table}


def usable(
    table: Mapping[str, Any], problems: list[str], *kinds: type, **given: Any
) -> dict[str, Any]:
    """The fields of dataclasses that a table gives; what it cannot give is added to the problems.

    Fields that are given otherwise are not in the table.
    """
    (takes, needed), values = _fields(*kinds), dict(given)
    for name, value in table.items():
        if name not in takes or name in given:
            there = [one for one in takes if one not in given]
            problems.append(f"unknown key {name}; {nearest_name(name, there)}")
            continue
        try:
            values[name] = decode(takes[name], value, name)
        except InputError as error:
            problems.append(str(error))
    problems += [f"{one} is missing" for one in needed if one not in table and one not in given]
    return values


def record(kind: type[T], table: Mapping[str, Any], **given: Any) -> T:
    """A dataclass from a table, and from what is given otherwise.

    Raises an `InputError` on a field that is missing, unknown, of another type or out of bounds.
    """
    problems: list[str] = []
    values = usable(table, problems, kind, **given)
    if problems:
        raise InputError(problems[0])
    return kind(**values)


@cache
def _parts(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        rules = (one for one in parts[1:] if isinstance(one, (Bound, Reader)))
        return origin, (parts[0], next(rules, None))
    return origin, parts


def decode(kind: Any, value: Any, name: str) -> Any:
    """A value as a type: lists become tuples, tables become dataclasses, whole numbers real ones.

    Raises an `InputError` that begins with the name. A dataclass may read its table itself, in
    ``from_dict``.
    """
    if type(value) is kind and kind in _WORDS:
        return value
    origin, parts = _parts(kind)
    if origin is Annotated:
        return _bounded(parts[0], parts[1], value, name)
    if origin in (Union, UnionType):
        if value is None and NoneType in parts:
            return None
        kinds = [one for one in parts if one is not NoneType]
        return decode(next((one for one in kinds if type(value) is one), kinds[0]), value, name)
    if origin is Literal:
        if value not in parts:
            raise InputError(f"{name} is {value!r:.50}; give {', '.join(map(str, parts))}")
        return value
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise InputError(f"{name} is {value!r:.50}; give a list")
        kinds = list(parts[:1] * len(value) if parts[-1] is ... else parts)
        if len(kinds) != len(value):
            raise InputError(f"{name} has {len(value)} values; give {len(kinds)}")
        items = zip(kinds, value, strict=True)
        return tuple(decode(*both, f"{name}[{i}]") for i, both in enumerate(items))
    if origin is Mapping or is_dataclass(kind):
        if not isinstance(value, Mapping):
            raise InputError(f"{name} is {value!r:.50}, not a table")
        if origin is Mapping and parts[1] is Any:
            return value
        if origin is Mapping:
            return {key: decode(parts[1], one, f"{name}.{key}") for key, one in value.items()}
        try:
            return getattr(kind, "from_dict", partial(record, kind))(value)
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
    if kind is Path and isinstance(value, (str, Path)):
        return Path(value)
    if kind is float and type(value) is int and value.bit_length() < _MOST_BITS:
        return float(value)
    if kind is not Any and type(value) is not kind:
        raise InputError(f"{name} is {value!r:.50}; give {_WORDS.get(kind, kind.__name__)}")
    return value


def _bounded(kind: Any, rule: Bound | Reader | None, value: Any, name: str) -> Any:
    """A value as a type within a bound, or as a reader reads it."""
    if not isinstance(rule, Reader):
        found = decode(kind, value, name)
        if rule:
            rule.check(name, value)
        return found
    try:
        return rule.read(value)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def read_toml(path: Path) -> dict[str, Any]:
    """The content of a TOML file; an `InputError` if it is missing or not TOML."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not valid TOML ({error})") from None


def read_record(kind: type[T], path: Path) -> T:
    """A dataclass from a TOML file; an `InputError`, with its path, as `read_toml` and `record`."""
    table = read_toml(path)
    try:
        return record(kind, table)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
