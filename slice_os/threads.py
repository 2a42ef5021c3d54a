"""CPU threads: how many there may be, and how ours and those of BLAS keep out of their way."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

import numpy  # noqa: F401  its BLAS has to be loaded before the controller looks for it
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

_held = Lock()


def usable_cores() -> int:
    """Cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep NumPy's BLAS to one thread; also a decorator.

    BLAS threads wait for one another by spinning: beside other busy threads, such as those of
    an encoder, a product of small matrices takes up to fifty times as long. The setting is one
    for the process, so the thread that comes first sets it and, when it leaves, restores it;
    what others do after that is as right, if slower.
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
