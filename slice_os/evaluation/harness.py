"""Harnesses: an experiment, the options it takes, and how it reports progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Annotated, Any, TypeAlias, TypeVar, get_origin

from slice_os.errors import InputError
from slice_os.evaluation.results import Evaluation
from slice_os.records import decode, one_of

T = TypeVar("T")

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""

Settings: TypeAlias = Annotated[tuple[str, ...], "Measure only this; repeatable.  [default: all]"]
"""The option of a harness that measures in several settings, and names them."""


def quiet(label: str, done: int, total: int) -> None:
    """A `Progress` that reports nothing."""


def track(items: Iterable[T], label: str, total: int, progress: Progress) -> Iterator[T]:
    """The same items; each is reported once the caller is done with it."""
    progress(label, 0, total)
    for done, item in enumerate(items, start=1):
        yield item
        progress(label, done, total)


@dataclass(frozen=True, slots=True)
class Harness:
    """An experiment: it loads its data, scores them with each encoder, and measures.

    Attributes:
        name: on the command line.
        description: for ``--help``: a first sentence, then what else there is to know.
        data: what ``--data`` takes, for ``--help``.
        run: called as ``run(data, encoders, progress=…, **options)`` with a path, a sequence of
            `TextEncoder`, a `Progress`, and its other parameters. These are annotated as those of
            a command are: with their help, bounds, and what their value is called.
        settings: the choices of its option ``settings``.
        cached: the option whose default is a folder of the vector cache, if there is a cache.
    """

    name: str
    description: str
    data: str
    run: Callable[..., Evaluation]
    settings: tuple[str, ...] = ()
    cached: str = ""

    @property
    def options(self) -> dict[str, Parameter]:
        """The annotated parameters of ``run`` by name."""
        found = signature(self.run, eval_str=True).parameters
        options = {n: one for n, one in found.items() if get_origin(one.annotation) is Annotated}
        if own := options.get("settings"):
            hint: Any = own.annotation
            hint = Annotated[hint, one_of(self.settings)]
            options["settings"] = own.replace(annotation=hint)
        return options

    def accept(self, values: Mapping[str, object]) -> dict[str, object]:
        """Values of options as ``run`` takes them; `InputError` if one is unknown or missing."""
        options = self.options
        for name in values:
            if name not in options:
                known = ", ".join(options) or "none"
                raise InputError(f"{self.name} has no option {name!r}; it has {known}")
        for name, option in options.items():
            if option.default is Parameter.empty and values.get(name) is None:
                raise InputError(f"{self.name} needs the option {name!r}")
        return {name: _value(options[name], value) for name, value in values.items()}


def _value(option: Parameter, value: Any) -> object:
    """A value as an option takes it; `InputError` if it does not."""
    if get_origin(option.annotation.__origin__) is tuple:
        alone = isinstance(value, str) or not isinstance(value, Iterable)
        value = (value,) if alone else tuple(value)
    return decode(option.annotation, value, option.name)
