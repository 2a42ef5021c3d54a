"""Values in objects of JSON, by paths such as ``body.content`` and ``items.*``.

Names are in ``snake_case``; objects may also have them in ``camelCase`` and ``PascalCase``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any


def items_at(steps: Sequence[str], chain: list[Any]) -> Iterator[list[Any]]:
    """The objects at a path, each behind those that it is in."""
    if not steps:
        if isinstance(chain[-1], Mapping):
            yield chain
        return
    step, *others = steps
    if step not in "*#":
        found = value_at(chain[-1], step)
        if found is not None:
            yield from items_at(others, [*chain, found])
    elif isinstance(chain[-1], list):
        for number, one in enumerate(chain[-1]):
            above = [{"channel": number}] if step == "#" else []
            yield from items_at(others, [*chain, *above, one])


def value_at(node: Any, path: str) -> Any:
    """The value at a path of names and numbers; None if there is none."""
    for step in path.split("."):
        if isinstance(node, Mapping):
            node = next((node[name] for name in spellings(step) if name in node), None)
        elif isinstance(node, list) and step.lstrip("-").isdecimal():
            at = int(step)
            node = node[at] if -len(node) <= at < len(node) else None
        else:
            return None
    return node


@cache
def spellings(name: str) -> tuple[str, ...]:
    """A name in ``snake_case``, ``camelCase`` and ``PascalCase``."""
    first, *others = name.split("_")
    camel = first + "".join(map(str.capitalize, others))
    return name, camel, camel[:1].upper() + camel[1:]


def values_at(objects: Sequence[Any], names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Paths with the values at them, those of the nearest object first."""
    for one in objects:
        for name in _present(tuple(one), names):
            yield name, value_at(one, name)


@lru_cache(maxsize=256)
def _present(keys: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the paths whose first name is a key; items of a list have the same keys."""
    return tuple(name for name in names if {*spellings(name.partition(".")[0])} & {*keys})


def first_of(objects: Sequence[Any], names: tuple[str, ...]) -> str | None:
    """The first string or integer by one of the names, in the nearest object."""
    for name, value in values_at(objects, names):
        is_label = isinstance(value, (str, int)) and not isinstance(value, bool) and value != ""
        if is_label and (value or name != "speaker_tag"):  # which is 0 if there is none
            return str(value)
    return None


def is_number(value: Any) -> bool:
    """Whether a value of JSON is a number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
