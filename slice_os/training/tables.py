"""Tables of TOML as frozen dataclasses, every field's name and type checked."""

from __future__ import annotations

import types
from dataclasses import MISSING, fields
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from slice_os.errors import InputError

T = TypeVar("T")

# Former names of fields, which recipes may still use.
RENAMED = {"licence": "license", "guided": "two_teachers"}


def from_table(cls: type[T], table: Any, where: str, **given: Any) -> T:
    """A settings dataclass from a table of TOML, and from values that are already built.

    Raises:
        InputError: if a field is missing, unknown, of another type or out of range; it is named.
    """
    table = {RENAMED.get(name, name): value for name, value in as_table(table, where).items()}
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
    """A value of TOML as a type: lists become tuples, and integers floats if needed.

    Raises:
        InputError: if it is of another type.
    """
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
    """A copy of a table.

    Raises:
        InputError: if it is something else.
    """
    if not isinstance(table, dict):
        raise InputError(f"{where} is {table!r}, not a table")
    return dict(table)
