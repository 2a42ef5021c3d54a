"""The steps of work: where it ends if nobody waits for it, and gives way to answers.

A thread cannot be stopped from outside. Every long loop of the library therefore has a checkpoint,
see `slice_os.threads.checkpoint`; here it asks whether anybody still waits for the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Condition, Event
from time import monotonic
from typing import TypeVar

from slice_os.threads import PACE, checkpoint, usable_cores

T = TypeVar("T")

# So many times as long as they have worked, mining and writing wait for answers at most.
_COURTESY = 1.0
# At a time, since answers may need the same thread.
_LONGEST_PAUSE = 0.05


class Stopped(Exception):  # noqa: N818  not an error
    """Work ends because nobody waits for its result."""


def stopping(stop: Event) -> Callable[[], None]:
    """The checkpoint of work that ends by `Stopped` once an event is set."""

    def check() -> None:
        if stop.is_set():
            raise Stopped

    return check


def until_stopped(items: Iterable[T]) -> Iterator[T]:
    """Yield the items, with a checkpoint before each."""
    for item in items:
        checkpoint()
        yield item


class AnswerPriority:
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
    def yield_to_answers(self) -> Iterator[None]:
        """Do other work."""
        since = monotonic()

        def give_way() -> None:
            nonlocal since
            pause = min(_COURTESY * (monotonic() - since), _LONGEST_PAUSE)
            with self._changed:
                self._changed.wait_for(lambda: self._answers < self._cores, pause)
            since = monotonic()

        before = PACE.set(give_way)
        try:
            yield
        finally:
            PACE.reset(before)
