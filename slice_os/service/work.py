"""Blocking work in a bounded number of threads, with a bound on time and on how many wait."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import TypeVar

from slice_os.service.problems import Problem
from slice_os.service.settings import Limits
from slice_os.service.stopping import CURRENT, Stopped

T = TypeVar("T")


class WorkPool:
    """Threads for what must not run on the event loop.

    Args:
        limits: threads, requests that may wait for one, and seconds.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._threads = ThreadPoolExecutor(limits.workers, thread_name_prefix="request")
        self._running = 0

    async def run(self, work: Callable[[], T], seconds: float | None = None) -> T:
        """What a function returns that runs in one of the threads.

        The function is told to stop if the time is over or the request goes away; see
        `slice_os.service.stopping`.

        Args:
            work: the function.
            seconds: time that it has; None for that of the limits.

        Raises:
            Problem: 429 if too many requests wait, 504 if the time is over.
        """
        if self._running >= self._limits.workers + self._limits.waiting:
            raise Problem(
                429,
                "busy",
                f"{self._running} requests are being worked on; try again in a second",
                {"Retry-After": "1"},
            )
        limit = self._limits.seconds if seconds is None else seconds
        stop = Event()
        context = contextvars.copy_context()
        context.run(CURRENT.set, stop)
        self._running += 1
        future = self._threads.submit(context.run, _unless_stopped, stop, work)
        waiting = asyncio.wrap_future(future)
        future.add_done_callback(self._ended(asyncio.get_running_loop()))
        try:
            return await asyncio.wait_for(waiting, limit)
        except (TimeoutError, asyncio.TimeoutError):
            raise Problem(
                504, "time_limit", f"no answer within {limit:g} s; narrow the request"
            ) from None
        finally:
            stop.set()

    def close(self) -> None:
        """End the threads as soon as their work ends; what still waits is dropped."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _ended(self, loop: asyncio.AbstractEventLoop) -> Callable[[object], None]:
        def count() -> None:
            self._running -= 1

        def ended(_future: object) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(count)

        return ended


def _unless_stopped(stop: Event, work: Callable[[], T]) -> T:
    if stop.is_set():
        raise Stopped
    return work()
