"""Blocking work in a bounded number of threads, with a time limit and a bounded queue.

A thread cannot be stopped from outside. Work therefore checks between its steps whether anybody
still waits for it: between batches of texts to encode, between passages, before verifying hits.
"""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from threading import Event, Lock
from time import monotonic
from typing import Literal, TypeVar

from slice_os.service.asgi.problems import Problem
from slice_os.service.settings import Limits

T = TypeVar("T")

# Requests wait for long only in a rush that passes: in these seconds, no thread was free.
_RUSH_SECONDS = 5.0
# A stream passes on what it has after so many items, or so many seconds.
_BATCH, _BATCH_SECONDS = 64, 0.1
_QUIET_SECONDS = 5.0
# The number of `M_ARENA_MAX` in glibc's malloc.h.
_ARENA_MAX, _HEAPS = -8, 4

CURRENT: contextvars.ContextVar[Event | None] = contextvars.ContextVar(
    "slice_os_stop", default=None
)
"""Set as soon as the work that runs in this context should stop."""


SENDER: contextvars.ContextVar[str | None] = contextvars.ContextVar("slice_os_sender", default=None)
"""The name of the key of the request that runs in this context; None if there are no keys."""


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


LaneName = Literal["answers", "mining", "writing", "files"]


class _Lane:
    """Threads for work of one kind, places to wait for them, and a time limit.

    Of the places, no key has more than half. If all threads have been busy for some seconds, work
    may wait for ``wait`` seconds only: some is answered soon then, rather than all of it late.
    """

    def __init__(
        self, name: str, threads: int, places: int, wait: float, seconds: float, late: str
    ) -> None:
        self.threads = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self.seconds = seconds
        self._size = threads
        self._wait = wait
        self._free = monotonic()
        self._waited = 0.0
        self._places = places
        self._late = late
        self._taken: Counter[str | None] = Counter()

    @property
    def admitted(self) -> int:
        return self._taken.total()

    @contextmanager
    def place(self) -> Iterator[None]:
        """Take a place; a Problem if there is none."""
        key = SENDER.get()
        own = self._taken[key] if key is not None else 0
        if self.admitted < self._size:
            self._free, self._waited = monotonic(), 0.0
        if self.admitted >= self._places or own >= max(1, self._places // 2):
            raise self._busy()
        self._refuse_in_a_rush()
        self._taken[key] += 1
        try:
            yield
        finally:
            self._taken[key] -= 1

    async def within(self, work: Callable[[], T], end: float) -> T:
        """Run a function in a thread until a time, by the monotonic clock."""
        stop = Event()
        context = contextvars.copy_context()
        context.run(CURRENT.set, stop)
        future = self.threads.submit(context.run, self._begin, stop, work, monotonic())
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), end - monotonic())
        except (TimeoutError, asyncio.TimeoutError):
            raise Problem(504, "time_limit", self._late) from None
        finally:
            stop.set()

    def _begin(self, stop: Event, work: Callable[[], T], since: float) -> T:
        """Do the work, unless nobody waits for it any more, or it has waited for too long."""
        if stop.is_set():
            raise Stopped
        self._waited = monotonic() - since
        self._refuse_in_a_rush()
        return work()

    def _refuse_in_a_rush(self) -> None:
        if self._waited > self._wait and monotonic() - self._free > _RUSH_SECONDS:
            raise self._busy()

    def _busy(self) -> Problem:
        message = f"{self.admitted} requests are worked on or wait; try again in a second"
        return Problem(429, "busy", message, {"Retry-After": "1"})


class WorkPool:
    """Threads for work that must not run on the event loop, in lanes that do not wait for others.

    Work stops when its sender disconnects, or its time is over; see `check_stopped`.
    """

    def __init__(self, limits: Limits) -> None:
        late = "the time for an answer is over; narrow the request, or ask for less"
        cut = (
            "the time for writing is over; documents that were complete by then are stored, the "
            "others as they were before: send these again, fewer or shorter ones at a time"
        )
        workers, half = limits.workers, max(1, limits.workers // 2)
        usual = workers + limits.waiting
        mining, writing = limits.mine_seconds, limits.write_seconds
        self._lanes: dict[LaneName, _Lane] = {
            "answers": _Lane("answer", workers, usual, limits.wait_seconds, limits.seconds, late),
            "mining": _Lane("mine", half, limits.streams, mining, mining, late),
            "writing": _Lane("write", half, limits.writes, writing, writing, cut),
            "files": _Lane("file", half, usual, limits.wait_seconds, limits.seconds, late),
        }

    @property
    def admitted(self) -> int:
        """Number of requests that are worked on, or wait for a thread."""
        return sum(lane.admitted for lane in self._lanes.values())

    async def run(self, work: Callable[[], T], lane: LaneName = "answers") -> T:
        """Run a function in a thread of a lane, within its time.

        Raises:
            Problem: 429 if too many requests wait, 504 if the time is over.
        """
        chosen = self._lanes[lane]
        with chosen.place():
            return await chosen.within(work, monotonic() + chosen.seconds)

    async def stream(self, items: Callable[[], Iterator[T]]) -> AsyncGenerator[list[T], None]:
        """Yield the items of an iterator that runs in the threads for mining, some at a time.

        The iterator runs only as fast as its items are taken, and is closed with this generator.
        While it has none, the generator yields an empty list every few seconds. ``items`` is
        called in a thread.

        Raises:
            Problem: 429 before the first items, 504 if the time is over.
        """
        lane = self._lanes["mining"]
        end = monotonic() + lane.seconds
        with lane.place():
            batches, busy = _batches(items), Lock()

            def following() -> list[T] | None:
                with busy:
                    return next(batches, None)

            def close() -> None:
                with busy:
                    batches.close()
                _give_back_memory()

            pending = asyncio.ensure_future(lane.within(following, end))
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
                    pending = asyncio.ensure_future(lane.within(following, end))
            finally:
                pending.cancel()
                # A pool that closes drops its threads' work anyway.
                with suppress(RuntimeError):
                    lane.threads.submit(close)

    def close(self) -> None:
        """End the threads as soon as their work ends; what still waits is dropped."""
        for lane in self._lanes.values():
            lane.threads.shutdown(wait=False, cancel_futures=True)


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


def share_memory() -> None:
    """Let all threads share a few heaps, where the C library would keep one for each of them."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, _HEAPS)


def _give_back_memory() -> None:
    """Give memory that is free back to the system, where the C library keeps it."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
