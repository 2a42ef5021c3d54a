"""Harnesses: an experiment, the options it takes, and how it reports progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from inspect import Parameter, signature
from pathlib import Path
from types import NoneType
from typing import Any, Literal, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

from slice_os.errors import InputError
from slice_os.evaluation.results import Evaluation
from slice_os.records import at_least, between, decode

T = TypeVar("T")

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""

Kind: TypeAlias = Literal["", "text", "number", "flag", "file", "folder", "path"]

_KINDS: dict[type, Kind] = {str: "text", int: "number", bool: "flag", Path: "file"}


def quiet(label: str, done: int, total: int) -> None:
    """A `Progress` that reports nothing."""


def track(items: Iterable[T], label: str, total: int, progress: Progress) -> Iterator[T]:
    """The same items; each is reported once the caller is done with it."""
    progress(label, 0, total)
    for done, item in enumerate(items, start=1):
        yield item
        progress(label, done, total)


@dataclass(frozen=True, slots=True)
class Option:
    """A parameter of a harness's ``run``, which the command line offers as an option.

    Its annotation and default complete the option: `Harness` reads from them the kind of value,
    whether the option is required, and whether it takes several values. The command line then
    repeats it, under the name without its final "s".

    Attributes:
        name: of the parameter, such as ``max_sizes``.
        help: one sentence for ``--help``.
        kind: of its value; ``path`` may be a file or a folder. A path is a ``file`` by default.
        choices: the values it admits; any for none.
        least: smallest number it admits.
        most: largest number it admits.
        metavar: what the value is called in ``--help``.
        cached: whether the default is a folder of the vector cache, if there is a cache.
        multiple: whether it takes several values.
        required: whether it has to be given.
        default: the value if it is not given.
    """

    name: str
    help: str
    kind: Kind = ""
    choices: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    metavar: str | None = None
    cached: bool = False
    multiple: bool = False
    required: bool = False
    default: Any = None

    def completed(self, run: Callable[..., Evaluation]) -> Option:
        """The option with what the signature of ``run`` says of it."""
        function = run.func if isinstance(run, partial) else run
        hint = get_type_hints(function)[self.name]
        value = next(one for one in get_args(hint) or (hint,) if one is not NoneType)
        default = signature(function).parameters[self.name].default
        return replace(
            self,
            kind=self.kind or _KINDS[value],
            multiple=get_origin(hint) is Sequence,
            required=default is Parameter.empty,
            default=None if default is Parameter.empty else default or None,
        )

    def accept(self, value: object) -> object:
        """A value as ``run`` takes it, several as a tuple; `InputError` if it is not admitted."""
        if not self.multiple:
            return None if value is None else self._one(value)
        if isinstance(value, str) or not isinstance(value, Iterable):
            value = (value,)
        return tuple(self._one(one) for one in value)

    def _one(self, value: object) -> object:
        if self.kind in ("file", "folder", "path") and isinstance(value, (str, Path)):
            return Path(value)
        if self.choices and value not in self.choices:
            raise InputError(f"{self.name} {value!r}: choose from {', '.join(self.choices)}")
        kinds = {name: kind for kind, name in _KINDS.items()}
        found = decode(kinds.get(self.kind, Path), value, self.name)
        if self.least is not None:
            bound = between(self.least, self.most) if self.most else at_least(self.least)
            bound.check(self.name, found)
        return found


def settings_option(settings: tuple[str, ...]) -> Option:
    """The option ``settings`` of a harness that measures in several."""
    return Option("settings", "Measure only this; repeatable.  [default: all]", choices=settings)


@dataclass(frozen=True, slots=True)
class Harness:
    """An experiment: it loads its data, scores them with each encoder, and measures.

    Attributes:
        name: on the command line.
        description: for ``--help``: a first sentence, then what else there is to know.
        data: what ``--data`` takes, for ``--help``.
        run: called as ``run(data, encoders, progress=…, **options)`` with a path, a sequence of
            `TextEncoder`, a `Progress`, and the options below by name.
        options: the other parameters of ``run``, completed by its signature.
    """

    name: str
    description: str
    data: str
    run: Callable[..., Evaluation]
    options: tuple[Option, ...] = ()

    def __post_init__(self) -> None:
        options = tuple(option.completed(self.run) for option in self.options)
        object.__setattr__(self, "options", options)

    def accept(self, values: Mapping[str, object]) -> dict[str, object]:
        """Values of options as ``run`` takes them; `InputError` if one is unknown or missing."""
        options = {option.name: option for option in self.options}
        for name in values:
            if name not in options:
                known = ", ".join(options) or "none"
                raise InputError(f"{self.name} has no option {name!r}; it has {known}")
        for option in self.options:
            if option.required and values.get(option.name) is None:
                raise InputError(f"{self.name} needs the option {option.name!r}")
        return {name: options[name].accept(value) for name, value in values.items()}
