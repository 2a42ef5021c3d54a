"""Commands that have the options and arguments that their parameters are annotated with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from inspect import get_annotations
from typing import Any, get_origin

import click


@dataclass(frozen=True)
class Option:
    """An option; without flags, it has that of its parameter's name."""

    flags: tuple[str, ...]
    attributes: Mapping[str, Any]

    def named(self, name: str, kind: Any = None) -> click.Parameter:
        """The option of a parameter: repeatable for a tuple, and a flag for a bool, maybe None."""
        usual: dict[str, Any] = {"multiple": True} if get_origin(kind) is tuple else {}
        usual |= {"is_flag": True} if kind is bool else {}
        usual |= {"default": None} if kind == bool | None else {}
        flags = self.flags or (f"--{name.replace('_', '-')}",)
        return click.Option([*flags, name], **{**usual, **self.attributes})


@dataclass(frozen=True)
class Argument:
    """An argument; one for a tuple has all values that are left."""

    attributes: Mapping[str, Any]

    def named(self, name: str, kind: Any = None) -> click.Parameter:
        """The argument of a parameter."""
        usual = {"nargs": -1} if get_origin(kind) is tuple else {}
        return click.Argument([name], **{**usual, **self.attributes})


@dataclass(frozen=True)
class Group:
    """Options that a command gets as one value, which ``make`` makes of theirs."""

    make: Callable[..., Any]
    options: Mapping[str, Option]


def option(*flags: str, **attributes: Any) -> Option:
    """An option with flags and attributes as of `click.option`."""
    return Option(flags, attributes)


def group(make: Callable[..., Any], /, **options: Option) -> Group:
    """A group of options, each for an argument of ``make``."""
    return Group(make, options)


def argument(**attributes: Any) -> Argument:
    """An argument with attributes as of `click.argument`."""
    return Argument(attributes)


class Command(click.Command):
    """A command with what the parameters of its function are annotated with.

    An option's flags are texts that begin with a hyphen; by default the name of the parameter. Its
    metavar is a word in capitals, its help another text, its type one of click, and its default
    that of the parameter. `option` gives more. A dataclass as the type of a parameter is made of
    the options that its fields are annotated with.
    """

    def __init__(self, name: str | None, *, callback: Any, params: Any = (), **given: Any) -> None:
        own, called = _taken(callback)
        super().__init__(name, callback=called, params=[*own, *params], **given)


def command(**attributes: Any) -> Callable[[Callable[..., Any]], click.Command]:
    """Make a `Command` of a function, with attributes as of `click.command`."""
    return click.command(cls=Command, **attributes)


def _taken(function: Callable[..., Any]) -> tuple[list[click.Parameter], Callable[..., Any]]:
    """The parameters of the command line for a function, and what calls it with their values."""
    found: dict[str, list[click.Parameter]] = {}
    makers: dict[str, Callable[..., Any]] = {}
    defaults = getattr(function, "__kwdefaults__", None) or {}
    for name, hint in get_annotations(function, eval_str=True).items():
        kind, parts = getattr(hint, "__origin__", hint), getattr(hint, "__metadata__", (hint,))
        (told, *_) = parts
        if isinstance(told, Group):
            found[name] = [one.named(part) for part, one in told.options.items()]
            makers[name] = told.make
        elif is_dataclass(told) and isinstance(told, type):
            found[name], makers[name] = _taken(told)
        elif isinstance(told, (Option, Argument)):
            found[name] = [told.named(name, kind)]
        elif told is not hint:
            flags = [one for one in parts if isinstance(one, str) and one.startswith("-")]
            usual = {"default": defaults[name]} if name in defaults else {}
            for one in (one for one in parts if one not in flags):
                usual[_attribute(one)] = one
            found[name] = [Option((*flags,), usual).named(name, kind)]

    def run(**given: Any) -> Any:
        for name, make in makers.items():
            own = [one.name or "" for one in found[name]]
            given[name] = make(**{part: given.pop(part) for part in own})
        return function(**given)

    return [one for own in found.values() for one in own], run


def _attribute(told: Any) -> str:
    if isinstance(told, click.ParamType):
        return "type"
    return "metavar" if told.isupper() and " " not in told else "help"
