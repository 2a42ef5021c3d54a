"""Retries while a server is down or too busy: pauses and their limit."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from functools import wraps
from typing import ParamSpec, TypeVar

from slice_os.errors import InputError, UnavailableError

VARIABLE = "SLICE_OS_RETRY_SECONDS"
RETRY_SECONDS = 300.0
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 10.0

P = ParamSpec("P")
T = TypeVar("T")


def retry_limit() -> float:
    """The limit of all retries: 300 seconds, unless ``SLICE_OS_RETRY_SECONDS`` says otherwise.

    Raises an `InputError` if that is not a number of seconds.
    """
    text = os.environ.get(VARIABLE) or str(RETRY_SECONDS)
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise InputError(f"{VARIABLE}={text!r}: give a number of seconds, 0 or more")
    return seconds


def pauses(limit: float) -> Iterator[float]:
    """Seconds to wait before each further attempt; they double, vary, and end at the limit."""
    deadline = time.monotonic() + limit
    pause = FIRST_PAUSE_SECONDS
    while (left := deadline - time.monotonic()) > 0:
        yield min(left, pause * random.uniform(0.5, 1.0))  # noqa: S311  jitter, no secret
        pause = min(LONGEST_PAUSE_SECONDS, 2 * pause)


def retrying(function: Callable[P, T]) -> Callable[P, T]:
    """Call again, with pauses, while the server is down or too busy.

    Args:
        function: safe to call again; raises `UnavailableError` if the trouble may pass.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        limit = retry_limit()
        waits = pauses(limit)
        while True:
            try:
                return function(*args, **kwargs)
            except UnavailableError as error:
                if (pause := next(waits, None)) is None:
                    raise given_up(error, limit) from None
                time.sleep(pause)

    return call


def given_up(error: UnavailableError, limit: float) -> UnavailableError:
    """The error to raise when the limit is reached."""
    return UnavailableError(f"{error} (for {limit:.0f} s); run the same command again to resume")
