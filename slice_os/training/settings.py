"""Settings from TOML as frozen dataclasses, every field's name, type and range checked."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from slice_os.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T")


def at_least(settings: object, **least: int) -> None:
    """Refuse fields below these integers; of a tuple, every number is checked."""
    for name, value in _numbers(settings, *least):
        if value < least[name]:
            raise InputError(f"{name} is {value}; give {least[name]} or more")


def positive(settings: object, *names: str) -> None:
    """Refuse fields that are not above 0; of a tuple, every number is checked."""
    for name, value in _numbers(settings, *names):
        if not value > 0:
            raise InputError(f"{name} is {value}; give a number above 0")


def not_negative(settings: object, *names: str) -> None:
    """Refuse fields below 0."""
    for name, value in _numbers(settings, *names):
        if not value >= 0:
            raise InputError(f"{name} is {value}; give 0 or more")


def _numbers(settings: object, *names: str) -> Iterator[tuple[str, float]]:
    for name in names:
        value = getattr(settings, name)
        for number in value if isinstance(value, tuple) else (value,):
            yield name, number


def from_table(cls: type[T], table: Any, where: str, **given: Any) -> T:
    """A settings dataclass from a table of TOML, and from values that are already built.

    Raises:
        InputError: if a field is missing, unknown, of another type or out of range; it is named.
    """
    table = as_table(table, where)
    hints = get_type_hints(cls)
    known = {f.name: f for f in fields(cls) if f.name not in given}  # type: ignore[arg-type]
    for name in table:
        if name not in known:
            raise InputError(f"{where}: unknown field {name!r}; there are {', '.join(known)}")
    values = dict(given)
    for name, known_field in known.items():
        if name in table:
            values[name] = as_kind(table[name], hints[name], f"{where}: {name}")
        elif known_field.default is MISSING and known_field.default_factory is MISSING:
            raise InputError(f"{where}: {name} is missing")
    try:
        return cls(**values)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def as_kind(value: Any, kind: Any, where: str) -> Any:
    """A value of TOML as a type, if it fits: lists become tuples, integers floats if needed."""
    if get_origin(kind) in (Union, types.UnionType):
        kind = next(part for part in get_args(kind) if part is not types.NoneType)
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise InputError(f"{where} is {value!r}; give a list")
        return tuple(as_kind(item, get_args(kind)[0], where) for item in value)
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise InputError(f"{where} is {value!r}, not {kind.__name__}")
    return value


def as_table(table: Any, where: str) -> dict[str, Any]:
    """A copy of a table; `InputError` if it is something else."""
    if not isinstance(table, dict):
        raise InputError(f"{where} is {table!r}, not a table")
    return dict(table)


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a recipe; `InputError` if the file is missing or not TOML."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path}: no such recipe") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid TOML ({error})") from None
