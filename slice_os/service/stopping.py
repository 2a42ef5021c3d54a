"""Stopping work that nobody waits for any more.

A thread cannot be stopped from outside. Work therefore looks, between its steps, whether it should
go on: encoding a phrase, reading the next passages of a store, verifying the next hits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from threading import Event
from typing import TypeVar

from slice_os.verifier.claims import Claim, Verdict, Verifier

T = TypeVar("T")

CURRENT: ContextVar[Event | None] = ContextVar("slice_os_stop", default=None)
"""Set as soon as the work that runs in this context should stop."""


class Stopped(Exception):  # noqa: N818  not an error
    """Work ends because nobody waits for its result."""


def check_stopped() -> None:
    """End the work of this context if it should stop.

    Raises:
        Stopped: in that case.
    """
    stop = CURRENT.get()
    if stop is not None and stop.is_set():
        raise Stopped


class StoppableVerifier:
    """A verifier that stops between its batches.

    Args:
        verifier: that reads the hits.
    """

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier

    def check(self, claims: Sequence[Claim]) -> Sequence[Verdict]:
        """Verdicts, unless the work should stop; see `Verifier.check`."""
        check_stopped()
        return self._verifier.check(claims)


def until_stopped(items: Iterable[T]) -> Iterator[T]:
    """The items, until the work should stop."""
    for item in items:
        check_stopped()
        yield item
