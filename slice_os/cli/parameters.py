"""Commands that have the options and arguments that their parameters are annotated with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, is_dataclass
from inspect import Parameter, get_annotations
from math import isnan
from pathlib import Path
from typing import Any, get_origin

import click

from slice_os.records import Bound

FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
_PATHS = {"PATH": click.Path(path_type=Path), "DIRECTORY": FOLDER, "FOLDER": FOLDER}


class NumberRange(click.FloatRange):
    """Numbers of a range; unlike `click.FloatRange`, without NaN."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """The number, or a usage error."""
        number = float(super().convert(value, param, ctx))
        if isnan(number):
            self.fail(f"{number} is not in the range {self._describe_range()}.", param, ctx)
        return number


@dataclass(frozen=True)
class Option:
    """An option; without flags, it has that of its parameter's name."""

    flags: tuple[str, ...]
    attributes: Mapping[str, Any]

    def named(self, name: str, kind: Any = None) -> click.Parameter:
        """The option of a parameter: repeatable for a tuple, and a flag for a bool, maybe None.

        The flag of one that is repeatable has no final "s"; that of a bool which is true by default
        has an opposite.
        """
        usual = _usual(kind, self.attributes)
        several = get_origin(kind) is tuple
        flag = f"--{name.removesuffix('s') if several else name}".replace("_", "-")
        usual |= {"multiple": True} if several else {}
        if kind is bool:
            usual["is_flag"] = True
            flag = f"{flag}/--no-{flag[2:]}" if self.attributes.get("default") else flag
        usual |= {"default": None} if kind == bool | None else {}
        return click.Option([*(self.flags or (flag,)), name], **{**usual, **self.attributes})


@dataclass(frozen=True)
class Argument:
    """An argument; one for a tuple has all values that are left."""

    attributes: Mapping[str, Any]

    def named(self, name: str, kind: Any = None) -> click.Parameter:
        """The argument of a parameter."""
        usual = _usual(kind, self.attributes)
        usual |= {"nargs": -1} if get_origin(kind) is tuple else {}
        return click.Argument([name], **{**usual, **self.attributes})


def _usual(kind: Any, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The type of paths: files, unless their metavar says otherwise."""
    if kind not in (Path, Path | None, tuple[Path, ...]):
        return {}
    return {"type": _PATHS.get(attributes.get("metavar", ""), FILE)}


@dataclass(frozen=True)
class Group:
    """Options that a command gets as one value, which ``make`` makes of theirs.

    They are options, or parameters that are annotated as those of a command.
    """

    make: Callable[..., Any]
    options: Mapping[str, Option | Parameter]


def option(*told: Any, **attributes: Any) -> Option:
    """An option with attributes as of `click.option`, which the words of an annotation tell, too.

    Its flags are texts that begin with a hyphen. Its metavar is a word in capitals, its help
    another text, its type one of click or a `Bound`.
    """
    flags = tuple(one for one in told if isinstance(one, str) and one.startswith("-"))
    for one in told:
        if one not in flags:
            attributes = _attribute(one) | attributes
    return Option(flags, attributes)


def group(make: Callable[..., Any], /, **options: Option) -> Group:
    """A group of options, each for an argument of ``make``."""
    return Group(make, options)


def argument(**attributes: Any) -> Argument:
    """An argument with attributes as of `click.argument`."""
    return Argument(attributes)


class Command(click.Command):
    """A command with what the parameters of its function are annotated with.

    These are the words that `option` takes, or an `option` with more. Its flag is by default the
    name of the parameter, and its default that of the parameter; it is required if it has none, and
    is of a type that cannot be None. A dataclass as the type of a parameter is made of the options
    that its fields are annotated with.
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
        (told, *_) = getattr(hint, "__metadata__", (hint,))
        if isinstance(told, Group):
            found[name] = [_named(part, one) for part, one in told.options.items()]
            makers[name] = told.make
        elif is_dataclass(told) and isinstance(told, type):
            found[name], makers[name] = _taken(told)
        elif told is not hint:
            found[name] = [_parameter(name, hint, defaults.get(name, Parameter.empty))]

    def run(**given: Any) -> Any:
        for name, make in makers.items():
            own = [one.name or "" for one in found[name]]
            given[name] = make(**{part: given.pop(part) for part in own})
        return function(**given)

    return [one for own in found.values() for one in own], run


def _named(name: str, told: Option | Parameter) -> click.Parameter:
    if isinstance(told, Option):
        return told.named(name)
    return _parameter(name, told.annotation, told.default)


def _parameter(name: str, hint: Any, default: Any) -> click.Parameter:
    """The parameter of the command line for one with an annotation, and with a default or none."""
    kind, parts = hint.__origin__, hint.__metadata__
    if isinstance(parts[0], (Option, Argument)):
        return parts[0].named(name, kind)
    none = default is Parameter.empty
    usual = {"required": kind in (str, int, float, Path)} if none else {"default": default}
    return option(*parts, **usual).named(name, kind)


def _attribute(told: Any) -> dict[str, Any]:
    if isinstance(told, Bound):
        numbers = NumberRange if isinstance(told.least, float) else click.IntRange
        bounds: Any = (told.least, told.most)
        return {"type": click.Choice(told.choices) if told.choices else numbers(*bounds)}
    if isinstance(told, click.ParamType):
        return {"type": told}
    return {"metavar" if told.isupper() and " " not in told else "help": told}
