"""Settings from TOML as frozen dataclasses, every field's name, type and range checked."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from slice_os.errors import InputError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Bound:
    """What the numbers of a field must be, in a test and in words."""

    fits: Callable[[float], bool]
    wanted: str

    def check(self, name: str, value: float | tuple[float, ...]) -> None:
        """Refuse a number that does not fit; of a tuple, every number is checked."""
        for number in value if isinstance(value, tuple) else (value,):
            if not self.fits(number):
                raise InputError(f"{name} is {number}; give {self.wanted}")


def at_least(least: int) -> Bound:
    """The bound of numbers that are not below another one."""
    return Bound(lambda value: value >= least, f"{least} or more")


ABOVE_0 = Bound(lambda value: value > 0, "a number above 0")
Positive: TypeAlias = Annotated[float, ABOVE_0]
NotNegative: TypeAlias = Annotated[float, at_least(0)]
Natural: TypeAlias = Annotated[int, at_least(0)]
Count: TypeAlias = Annotated[int, at_least(1)]


class Settings:
    """The base of dataclasses of settings: the bounds in the types of their fields are checked."""

    __slots__ = ()

    def __post_init__(self) -> None:
        for name, hint in get_type_hints(type(self), include_extras=True).items():
            for bound in getattr(hint, "__metadata__", ()):
                bound.check(name, getattr(self, name))


def read_settings(cls: type[T], path: Path) -> T:
    """Settings from a recipe.

    Raises an `InputError` if the file is missing or not TOML, or as `from_table`.
    """
    try:
        return from_table(cls, toml_table(path))
    except FileNotFoundError:
        raise InputError(f"{path}: no such recipe") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not valid TOML ({error})") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def toml_table(path: Path) -> dict[str, Any]:
    """The content of a TOML file; `OSError` and `ValueError` as its reader raises them."""
    return tomllib.loads(path.read_text("utf-8"))


def from_table(cls: type[T], table: Mapping[str, Any], **given: Any) -> T:
    """A settings dataclass from a table of TOML, and from values that are already built.

    Tables in it become dataclasses, too, by `from_table` of their class if it has one. Raises an
    `InputError` if a field is missing, unknown, of another type or out of range; it is named.
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
