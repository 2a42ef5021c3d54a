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
            ``setups`` and ``settings`` are tuples, empty where none were chosen.
        setups: names that ``--setup`` takes, none where there is no such option.
        settings: names that ``--setting`` takes, none where there is no such option.
        options: further options of the command line.
    """

    name: str
    description: str
    data: str
    run: Callable[..., Evaluation]
    setups: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    options: tuple[click.Option, ...] = ()


# A new harness is a file and a line here.
HARNESSES = {
    "sts-b-context": "slice_os.evaluation.sts_b_context:HARNESS",
    "pic-ps": "slice_os.evaluation.pic_ps:HARNESS",
    "pic-pr": "slice_os.evaluation.pic_retrieval:PR",
    "pic-psd": "slice_os.evaluation.pic_retrieval:PSD",
    "pcpe": "slice_os.evaluation.pcpe:HARNESS",
    "span-retrieval": "slice_os.evaluation.span_retrieval:HARNESS",
    "phrase-similarity": "slice_os.evaluation.phrase_similarity:HARNESS",
    "index": "slice_os.evaluation.index_level:HARNESS",
    "calibration": "slice_os.evaluation.calibration:HARNESS",
}


def load_harness(name: str) -> Harness:
    """The harness of that name.

    Raises:
        KeyError: where there is none.
        MissingExtraError: without the extra ``eval``.
    """
    if find_spec("scipy") is None:
        raise MissingExtraError("slice-os eval", "eval")
    module, _, attribute = HARNESSES[name].partition(":")
    harness: Harness = getattr(importlib.import_module(module), attribute)
    return harness
