"""The steps of work: where it ends if nobody waits for it, and gives way to answers.

A thread cannot be stopped from outside. Work therefore checks between its steps whether anybody
still waits for it: between batches of texts to encode, between passages, before verifying hits.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Condition, Event
from time import monotonic
from typing import TypeVar

from slice_os.threads import usable_cores

T = TypeVar("T")

# So many times as long as they have worked, mining and writing wait for answers at most.
_COURTESY = 1.0

CURRENT: contextvars.ContextVar[Event | None] = contextvars.ContextVar(
    "slice_os_stop", default=None
)
"""Set as soon as the work that runs in this context should stop."""

_GIVE_WAY: contextvars.ContextVar[Callable[[], None]] = contextvars.ContextVar(
    "slice_os_give_way", default=lambda: None
)


class Stopped(Exception):  # noqa: N818  not an error
    """Work ends because nobody waits for its result."""


def check_stopped() -> None:
    """Let answers go first, if others should; raise `Stopped` if nobody waits for this work."""
    _GIVE_WAY.get()()
    stop = CURRENT.get()
    if stop is not None and stop.is_set():
        raise Stopped


def until_stopped(items: Iterable[T]) -> Iterator[T]:
    """Yield the items, until the work should stop."""
    for item in items:
        check_stopped()
        yield item


class Courtesy:
    """Lets other work wait at its steps while as many answers are worked on as there are cores.

    It never waits for more than `_COURTESY` times as long as it has worked since: it goes on, but
    slowly. Answers are soon over if nothing shares the cores with them.
    """

    def __init__(self) -> None:
        self._cores = usable_cores()
        self._answers = 0
        self._changed = Condition()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Work on an answer."""
        with self._changed:
            self._answers += 1
        try:
            yield
        finally:
            with self._changed:
                self._answers -= 1
                self._changed.notify_all()

    @contextmanager
    def giving_way(self) -> Iterator[None]:
        """Do other work."""
        since = monotonic()

        def give_way() -> None:
            nonlocal since
            worked = monotonic() - since
            with self._changed:
                self._changed.wait_for(lambda: self._answers < self._cores, _COURTESY * worked)
            since = monotonic()

        before = _GIVE_WAY.set(give_way)
        try:
            yield
        finally:
            _GIVE_WAY.reset(before)
