"""What a harness is: an experiment, the options it takes, and how it reports progress."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from slice_os.errors import InputError
from slice_os.evaluation.results import Evaluation

T = TypeVar("T")

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""

Kind: TypeAlias = Literal["text", "number", "flag", "file", "folder", "path"]


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
    """A run parameter of a harness, which the command line offers as an option.

    Attributes:
        name: of the parameter, such as ``max_sizes``.
        help: one sentence for ``--help``.
        kind: of its value; ``path`` may be a file or a folder.
        multiple: whether it takes several values. The command line then repeats the option,
            under the name without its final "s".
        choices: the values it admits; any for none.
        least: smallest number it admits.
        most: largest number it admits.
        required: whether it has to be given.
        default: the value if it is not given.
        metavar: what the value is called in ``--help``.
        cached: whether the default is a folder of the vector cache, if there is a cache.
    """

    name: str
    help: str
    kind: Kind = "text"
    multiple: bool = False
    choices: tuple[str, ...] = ()
    least: int | None = None
    most: int | None = None
    required: bool = False
    default: str | int | bool | None = None
    metavar: str | None = None
    cached: bool = False

    def accept(self, value: object) -> object:
        """A value as `Harness.run` takes it: paths as `Path`, several values as a tuple.

        Raises:
            InputError: if the option does not admit the value.
        """
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
        right = {"number": int, "flag": bool, "text": str}.get(self.kind)
        if right is None or type(value) is not right:
            raise InputError(f"{self.name} {value!r}: give a {self.kind}")
        if isinstance(value, int):
            if self.least is not None and value < self.least:
                raise InputError(f"{self.name} {value}: give {self.least} or more")
            if self.most is not None and value > self.most:
                raise InputError(f"{self.name} {value}: give {self.most} or less")
        return value


def settings_option(settings: tuple[str, ...]) -> Option:
    """The option ``settings`` of a harness that measures in several."""
    described = "Only this one; repeatable.  [default: all]"
    return Option("settings", described, multiple=True, choices=settings)


@dataclass(frozen=True, slots=True)
class Harness:
    """An experiment: it loads its data, scores them with each encoder, and measures.

    Attributes:
        name: on the command line.
        description: for ``--help``: a first sentence, then what else there is to know.
        data: what ``--data`` takes, for ``--help``.
        run: called as ``run(data, encoders, progress=…, **options)`` with a path, a sequence of
            `TextEncoder`, a `Progress`, and the options below by name.
        options: what else ``run`` takes.
    """

    name: str
    description: str
    data: str
    run: Callable[..., Evaluation]
    options: tuple[Option, ...] = ()

    def accept(self, values: Mapping[str, object]) -> dict[str, object]:
        """Values of options as ``run`` takes them.

        Raises:
            InputError: on an option that it does not have, on a value that an option does not
                admit, or if a required option is missing.
        """
        options = {option.name: option for option in self.options}
        for name in values:
            if name not in options:
                known = ", ".join(options) or "none"
                raise InputError(f"{self.name} has no option {name!r}; it has {known}")
        for option in self.options:
            if option.required and values.get(option.name) is None:
                raise InputError(f"{self.name} needs the option {option.name!r}")
        return {name: options[name].accept(value) for name, value in values.items()}
