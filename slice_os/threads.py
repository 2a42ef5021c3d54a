"""CPU threads: how many to use, where long work may be ended, and BLAS threads kept away."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from threading import Lock
from typing import TypeVar

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

T = TypeVar("T")
R = TypeVar("R")

_held = Lock()

CHECKPOINT: ContextVar[Callable[[], None]] = ContextVar("slice_os_checkpoint", default=lambda: None)
"""A function that long work calls between its steps; an error of it ends the work."""

PACE: ContextVar[Callable[[], None]] = ContextVar("slice_os_pace", default=lambda: None)
"""A function that long work, and threads that work for it, call between steps; it may wait."""


def checkpoint() -> None:
    """Call what this context has for the steps of long work."""
    PACE.get()()
    CHECKPOINT.get()()


def usable_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let a change that has begun come to its end, whatever checkpoints say."""
    before = CHECKPOINT.set(lambda: None)
    try:
        yield
    finally:
        CHECKPOINT.reset(before)


def on_all_cores(work: Callable[[T], R], parts: Iterable[T]) -> list[R]:
    """The results of work on parts, in order; a single part needs no other thread.

    There is a checkpoint before each part.
    """
    parts, check = list(parts), CHECKPOINT.get()

    def step(part: T) -> R:
        check()
        return work(part)

    if len(parts) < 2:
        return list(map(step, parts))
    with ThreadPoolExecutor(usable_cores()) as executor:
        return list(executor.map(step, parts))


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit NumPy's BLAS to one thread; also works as a decorator.

    BLAS threads wait for one another by spinning. Beside other busy threads, such as those of an
    encoder, a product of small matrices then takes up to fifty times as long. The limit holds
    for the whole process: the first thread to enter sets it and restores it when it leaves.
    Others that still run then are slower, but just as correct.
    """
    if not _held.acquire(blocking=False):
        yield
        return
    try:
        with _blas().limit(limits=1, user_api="blas"):
            yield
    finally:
        _held.release()


@cache
def _blas() -> ThreadpoolController:
    import numpy  # noqa: F401  the controller only finds a BLAS that is loaded

    return ThreadpoolController().select(user_api="blas")
