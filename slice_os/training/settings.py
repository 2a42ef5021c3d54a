"""Settings from TOML as frozen dataclasses, every field's name, type and range checked."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import partial
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


def read_settings(cls: type[T], path: Path) -> T:
    """Settings from a recipe.

    Raises:
        InputError: if the file is missing or not TOML, or as `from_table`.
    """
    try:
        return from_table(cls, tomllib.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        raise InputError(f"{path}: no such recipe") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid TOML ({error})") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def from_table(cls: type[T], table: Mapping[str, Any], **given: Any) -> T:
    """A settings dataclass from a table of TOML, and from values that are already built.

    Tables in it become dataclasses, too, by `from_table` of their class if it has one.

    Raises:
        InputError: if a field is missing, unknown, of another type or out of range; it is named.
    """
    hints = get_type_hints(cls)
    known = {f.name: f for f in fields(cls) if f.name not in given}  # type: ignore[arg-type]
    for name in table:
        if name not in known:
            raise InputError(f"unknown field {name!r}; there are {', '.join(known)}")
    values = dict(given)
    for name, known_field in known.items():
        if name in table:
            values[name] = _as_kind(table[name], hints[name], name)
        elif known_field.default is MISSING and known_field.default_factory is MISSING:
            raise InputError(f"{name} is missing")
    return cls(**values)


def _as_kind(value: Any, kind: Any, name: str) -> Any:
    """A value of TOML as a type, if it fits: lists become tuples, integers floats if needed."""
    if get_origin(kind) in (Union, types.UnionType):
        kind = next(part for part in get_args(kind) if part is not types.NoneType)
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise InputError(f"{name} is {value!r}; give a list")
        part = get_args(kind)[0]
        return tuple(_as_kind(item, part, f"{name}[{i}]") for i, item in enumerate(value))
    if not is_dataclass(kind) and get_origin(kind) is not Mapping:
        if kind is float and type(value) is int:
            return float(value)
        if type(value) is not kind:
            raise InputError(f"{name} is {value!r}, not {kind.__name__}")
        return value
    if not isinstance(value, dict):
        raise InputError(f"{name} is {value!r}, not a table")
    if get_origin(kind) is Mapping:
        part = get_args(kind)[1]
        return {key: _as_kind(item, part, f"{name}.{key}") for key, item in value.items()}
    try:
        return getattr(kind, "from_table", partial(from_table, kind))(value)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
