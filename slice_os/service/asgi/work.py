"""Blocking work in a bounded number of threads, with a time limit and a bounded queue.

A thread cannot be stopped from outside. Work therefore checks between its steps whether anybody
still waits for it: before encoding a phrase, between passages, before verifying hits.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Event, Lock
from time import monotonic
from typing import TypeVar

from slice_os.service.asgi.problems import Problem
from slice_os.service.settings import Limits

T = TypeVar("T")

# A stream passes on what it has after so many items, or so many seconds.
_BATCH, _BATCH_SECONDS = 64, 0.1
_QUIET_SECONDS = 5.0

CURRENT: contextvars.ContextVar[Event | None] = contextvars.ContextVar(
    "slice_os_stop", default=None
)
"""Set as soon as the work that runs in this context should stop."""


class Stopped(Exception):  # noqa: N818  not an error
    """Work ends because nobody waits for its result."""


def check_stopped() -> None:
    """Raise `Stopped` if nobody waits for the work of this context."""
    stop = CURRENT.get()
    if stop is not None and stop.is_set():
        raise Stopped


def until_stopped(items: Iterable[T]) -> Iterator[T]:
    """Yield the items, until the work should stop."""
    for item in items:
        check_stopped()
        yield item


class WorkPool:
    """Threads for work that must not run on the event loop.

    Work stops when its sender disconnects, or its time is over; see `check_stopped`.

    Attributes:
        admitted: number of requests that are worked on, or wait for a thread.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._threads = ThreadPoolExecutor(limits.workers, thread_name_prefix="request")
        self.admitted = 0

    async def run(self, work: Callable[[], T], mining: bool = False) -> T:
        """Run a function in one of the threads, within the time for an answer, or for mining.

        Raises:
            Problem: 429 if too many requests wait, 504 if the time is over.
        """
        with self._place():
            seconds = self._limits.mine_seconds if mining else self._limits.seconds
            return await self._within(work, monotonic() + seconds)

    async def stream(self, items: Callable[[], Iterator[T]]) -> AsyncGenerator[list[T], None]:
        """Yield the items of an iterator that runs in the threads, some at a time.

        The iterator runs only as fast as its items are taken, and is closed with this generator.
        While it has none, the generator yields an empty list every few seconds. ``items`` is
        called in a thread.

        Raises:
            Problem: 429 before the first items, 504 if the time is over.
        """
        end = monotonic() + self._limits.mine_seconds
        with self._place():
            batches, busy = _batches(items), Lock()

            def following() -> list[T] | None:
                with busy:
                    return next(batches, None)

            def close() -> None:
                with busy:
                    batches.close()

            pending = asyncio.ensure_future(self._within(following, end))
            try:
                while True:
                    done, _ = await asyncio.wait((pending,), timeout=_QUIET_SECONDS)
                    if not done:
                        yield []
                        continue
                    batch = pending.result()
                    if batch is None:
                        return
                    yield batch
                    pending = asyncio.ensure_future(self._within(following, end))
            finally:
                pending.cancel()
                # A pool that closes drops its threads' work anyway.
                with suppress(RuntimeError):
                    self._threads.submit(close)

    def close(self) -> None:
        """End the threads as soon as their work ends; what still waits is dropped."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    @contextmanager
    def _place(self) -> Iterator[None]:
        """Take a place among the admitted requests."""
        if self.admitted >= self._limits.workers + self._limits.waiting:
            message = f"{self.admitted} requests are worked on or wait; try again in a second"
            raise Problem(429, "busy", message, {"Retry-After": "1"})
        self.admitted += 1
        try:
            yield
        finally:
            self.admitted -= 1

    async def _within(self, work: Callable[[], T], end: float) -> T:
        """Run a function in a thread until a time, by the monotonic clock."""
        stop = Event()
        context = contextvars.copy_context()
        context.run(CURRENT.set, stop)
        future = self._threads.submit(context.run, _unless_stopped, stop, work)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), end - monotonic())
        except (TimeoutError, asyncio.TimeoutError):
            message = "the time for an answer is over; narrow the request, or ask for less"
            raise Problem(504, "time_limit", message) from None
        finally:
            stop.set()


def _batches(items: Callable[[], Iterator[T]]) -> Generator[list[T], None, None]:
    """The items of an iterator, some at a time; it is made when the first ones are wanted."""
    iterator = items()
    try:
        batch: list[T] = []
        end = monotonic() + _BATCH_SECONDS
        for item in until_stopped(iterator):
            batch.append(item)
            if len(batch) == _BATCH or monotonic() > end:
                yield batch
                batch, end = [], monotonic() + _BATCH_SECONDS
        if batch:
            yield batch
    finally:
        if isinstance(iterator, Generator):
            iterator.close()


def _unless_stopped(stop: Event, work: Callable[[], T]) -> T:
    if stop.is_set():
        raise Stopped
    return work()
