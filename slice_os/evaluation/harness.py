"""Harnesses: an experiment, the options it takes, and how it reports progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from inspect import Parameter, get_annotations, signature
from pathlib import Path
from types import NoneType
from typing import Any, Literal, TypeAlias, TypeVar, get_args, get_origin

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
    """What a parameter of a harness's ``run`` is annotated with, to be an option of its command.

    The parameter completes it: its name, the kind of its value, whether it is required, and whether
    it takes several values. The command line then repeats it, under the name without its final "s".
    A text in place of an option is its help.

    Attributes:
        help: one sentence for ``--help``.
        kind: of its value; ``path`` may be a file or a folder. A path is a ``file`` by default.
        choices: the values it admits; any for none.
        least: smallest number it admits.
        most: largest number it admits.
        metavar: what the value is called in ``--help``.
        cached: whether the default is a folder of the vector cache, if there is a cache.
        name: of the parameter, such as ``max_sizes``.
        multiple: whether it takes several values.
        required: whether it has to be given.
        default: the value if it is not given.
    """

    help: str
    kind: Kind = ""
    choices: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    metavar: str | None = None
    cached: bool = False
    name: str = ""
    multiple: bool = False
    required: bool = False
    default: Any = None

    def of(self, name: str, hint: Any, default: Any) -> Option:
        """The option of a parameter, by its type and default."""
        value = next(one for one in get_args(hint) or (hint,) if one is not NoneType)
        return replace(
            self,
            name=name,
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
    return Option("Measure only this; repeatable.  [default: all]", choices=settings)


@dataclass(frozen=True, slots=True)
class Harness:
    """An experiment: it loads its data, scores them with each encoder, and measures.

    Attributes:
        name: on the command line.
        description: for ``--help``: a first sentence, then what else there is to know.
        data: what ``--data`` takes, for ``--help``.
        run: called as ``run(data, encoders, progress=…, **options)`` with a path, a sequence of
            `TextEncoder`, a `Progress`, and its other parameters, each annotated with an `Option`.
        settings: those that it measures in, if ``run`` knows more.
    """

    name: str
    description: str
    data: str
    run: Callable[..., Evaluation]
    settings: tuple[str, ...] = ()

    @property
    def options(self) -> tuple[Option, ...]:
        """The options of ``run``, completed by its signature."""
        function = self.run.func if isinstance(self.run, partial) else self.run
        parameters, found = signature(function).parameters, list[Option]()
        for name, hint in get_annotations(function, eval_str=True).items():
            for told in getattr(hint, "__metadata__", ()):
                option = Option(told) if isinstance(told, str) else told
                choices = self.settings if name == "settings" else ()
                option = replace(option, choices=choices or option.choices)
                found.append(option.of(name, hint.__origin__, parameters[name].default))
        return tuple(found)

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
