"""Harnesses: what each one is, and where they are found."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TypeAlias, TypeVar

import click

from slice_os.errors import MissingExtraError
from slice_os.evaluation.results import Evaluation

T = TypeVar("T")

Progress: TypeAlias = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""


def quiet(label: str, done: int, total: int) -> None:
    """The progress that says nothing."""


def track(items: Iterable[T], label: str, total: int, progress: Progress) -> Iterator[T]:
    """The same items, each reported when it has been dealt with."""
    progress(label, 0, total)
    for done, item in enumerate(items, start=1):
        yield item
        progress(label, done, total)


@dataclass(frozen=True, slots=True)
class Harness:
    """An experiment: it loads its data, scores them by each encoder, and measures.

    Attributes:
        name: on the command line.
        description: for ``--help``: a first sentence, then what else there is to know.
        data: what ``--data`` takes, for ``--help``.
        run: called as ``run(data, encoders, progress=…, **options)`` with a path, a sequence of
            `TextEncoder`, a `Progress`, and the options below by their parameter names;
            ``settings`` is a tuple, empty if none were chosen, for a harness that has some.
        settings: names that ``--setting`` takes, none where there is no such option.
        options: further options of the command line.
    """

    name: str
    description: str
    data: str
    run: Callable[..., Evaluation]
    settings: tuple[str, ...] = ()
    options: tuple[click.Option, ...] = ()


# A new harness is a file and a line here.
HARNESSES = {
    "sts-b-context": "slice_os.evaluation.sts_b_context.harness:HARNESS",
    "pic-ps": "slice_os.evaluation.pic.similarity:HARNESS",
    "pic-pr": "slice_os.evaluation.pic.retrieval:PR",
    "pic-psd": "slice_os.evaluation.pic.retrieval:PSD",
    "pcpe": "slice_os.evaluation.pic.pcpe:HARNESS",
    "span-retrieval": "slice_os.evaluation.span_retrieval.harness:HARNESS",
    "phrase-similarity": "slice_os.evaluation.phrases.harness:HARNESS",
    "index": "slice_os.evaluation.index_level.harness:HARNESS",
    "calibration": "slice_os.evaluation.calibration.harness:HARNESS",
}


def load_harness(name: str) -> Harness:
    """The harness of that name.

    Raises:
        KeyError: if there is none.
        MissingExtraError: without the extra ``eval``.
    """
    if find_spec("scipy") is None:
        raise MissingExtraError("slice-os eval", "eval")
    module, _, attribute = HARNESSES[name].partition(":")
    harness: Harness = getattr(importlib.import_module(module), attribute)
    return harness
