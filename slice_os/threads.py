"""CPU threads: how many to use, and how to keep BLAS threads out of the way of ours."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

import numpy  # noqa: F401  the controller only finds a BLAS that is loaded
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

_held = Lock()


def usable_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


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
    return ThreadpoolController().select(user_api="blas")
