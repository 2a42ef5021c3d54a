"""Blocking work in a bounded number of threads, with a time limit and a bounded queue."""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from math import inf
from threading import Event, Lock
from time import monotonic
from typing import Any, Literal, TypeVar

from slice_os.service.asgi.problems import Problem, problem_of
from slice_os.service.asgi.steps import AnswerPriority, Stopped, stopping, until_stopped
from slice_os.service.settings import Limits
from slice_os.threads import CHECKPOINT

T = TypeVar("T")

# Many requests wait only in a rush that passes: in these seconds no thread was free, and in those
# before nobody was refused.
_RUSH_SECONDS, _CALM_SECONDS = 2.0, 30.0
# Otherwise so many at most wait for each thread, or one for all.
_TURNS = 0.5
# The weight of the latest piece of work in what one takes.
_LATEST = 0.1
# A stream passes on what it has after so many items, or so many seconds.
_BATCH, _BATCH_SECONDS = 64, 0.1
_QUIET_SECONDS = 5.0
# For a change that has begun to end, when its time is over.
_SETTLING_SECONDS = 10.0
# The number of `M_ARENA_MAX` in glibc's malloc.h.
_ARENA_MAX, _HEAPS = -8, 4

SENDER: contextvars.ContextVar[str | None] = contextvars.ContextVar("slice_os_sender", default=None)
"""The name of the key of the request that runs in this context; None if there are no keys."""


LaneName = Literal["answers", "mining", "writing", "files", "bodies", "originals", "health"]


@dataclass(eq=False)
class _Lane:
    """Threads for work of one kind, places to wait for them, and a time limit.

    Of the places, no key has more than half. Work is refused that would have to wait for more than
    ``wait`` seconds or, unless there is a rush that may pass, for more than ``turns`` others for
    each thread: some is answered soon then, rather than all of it late. Work runs within
    ``around``. A place is free as soon as its thread is, however late.

    ``late`` tells that work has ended because its time was over. A lane that tells what else may be
    the case, ``unsettled``, waits for work that cannot end at once.
    """

    name: str
    size: int
    places: int
    seconds: float
    late: str
    unsettled: str = ""
    turns: float = inf
    wait: float = inf
    around: Callable[[], AbstractContextManager[None]] = nullcontext

    def __post_init__(self) -> None:
        self.threads = ThreadPoolExecutor(self.size, thread_name_prefix=self.name)
        self.stopped = False
        self._free = monotonic()
        self._refused = self._free - _CALM_SECONDS
        self._takes = 0.0
        self._taken: Counter[str | None] = Counter()
        self._counting = Lock()
        self._awaited: set[asyncio.Future[Any]] = set()

    @property
    def admitted(self) -> int:
        return self._taken.total()

    def take_place(self) -> Callable[[], None]:
        """Take a place; returns what gives it back, from any thread. A Problem if there is none."""
        key = SENDER.get()
        own = self._taken[key] if key is not None else 0
        if self.admitted < self.size:
            self._free = monotonic()
        if self.admitted >= self.places or own >= max(1, self.places // 2):
            raise self._busy()
        waiting = max(0, self.admitted + 1 - self.size)
        many = waiting >= 1 + self.turns * self.size
        if waiting * self._takes > self.wait * self.size or (many and not self._in_rush()):
            raise self._refusal()
        with self._counting:
            self._taken[key] += 1

        def give_back() -> None:
            with self._counting:
                self._taken[key] -= 1

        return give_back

    def submit(
        self, work: Callable[[], T], ended: Callable[[], None] = lambda: None
    ) -> tuple[Future[T], Event]:
        """Give work to a thread; ``ended`` is called behind it. The event stops it."""
        stop = Event()
        context = contextvars.copy_context()
        context.run(CHECKPOINT.set, stopping(stop))
        # A future that is cancelled stays in the queue; what its work holds must not.
        waiting = [work]
        try:
            # With a thread for everybody, only the machine is slow, and refusals help nobody.
            since = monotonic() if self.admitted > self.size else inf
            future = self.threads.submit(context.run, self._begin, stop, waiting, since)
        except RuntimeError as error:  # the threads have been shut down
            ended()
            raise problem_of(asyncio.CancelledError()) from error

        def end(_future: Future[T]) -> None:
            waiting.clear()
            ended()

        future.add_done_callback(end)
        return future, stop

    async def within(
        self, work: Callable[[], T], end: float, ended: Callable[[], None] = lambda: None
    ) -> T:
        """Run a function in a thread until a time, by the monotonic clock; see `submit`."""
        if self.stopped:
            ended()
            raise problem_of(asyncio.CancelledError())
        future, stop = self.submit(work, ended)
        awaited = asyncio.wrap_future(future)
        self._awaited.add(awaited)
        try:
            done, _ = await asyncio.wait((awaited,), timeout=end - monotonic())
            if not done:
                stop.set()
                settles = self.unsettled and not future.cancel()
                if settles:
                    done, _ = await asyncio.wait((awaited,), timeout=_SETTLING_SECONDS)
                if not done:
                    raise Problem(504, "time_limit", self.unsettled if settles else self.late)
            return awaited.result()
        except Stopped:
            raise Problem(504, "time_limit", self.late) from None
        except asyncio.CancelledError as error:
            if self.stopped:
                raise problem_of(error) from None
            raise
        finally:
            self._awaited.discard(awaited)
            stop.set()
            awaited.cancel()

    def stop(self) -> None:
        """Wait for no work any more, neither for what runs nor for what is still to come."""
        self.stopped = True
        for awaited in list(self._awaited):
            awaited.cancel()

    def _begin(self, stop: Event, waiting: list[Callable[[], T]], since: float) -> T:
        """Do the work, unless nobody waits for it any more, or it has waited for too long."""
        if stop.is_set():
            raise Stopped
        begun = monotonic()
        if begun - since > self.wait:
            raise self._refusal()
        work = waiting.pop()
        try:
            with self.around():
                return work()
        finally:
            self._takes += _LATEST * (monotonic() - begun - self._takes)

    def _in_rush(self) -> bool:
        now = monotonic()
        return now - self._free <= _RUSH_SECONDS and now - self._refused > _CALM_SECONDS

    def _refusal(self) -> Problem:
        self._refused = monotonic()
        return self._busy()

    def _busy(self) -> Problem:
        message = f"{self.admitted} requests are worked on or wait; try again in a second"
        return Problem(429, "busy", message, {"Retry-After": "1"})


class Unread:
    """The bytes of answers that are being sent to whoever has not read them yet, by key.

    Work is refused while there are more than so many, or its key has more than half of that. What
    a key has beyond its half does not count for others, so that none can stop them alone.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._bytes: Counter[str | None] = Counter()

    @contextmanager
    def sending(self, size: int) -> Iterator[None]:
        """Send so many bytes, on the event loop."""
        key = SENDER.get()
        self._bytes[key] += size
        try:
            yield
        finally:
            self._bytes[key] -= size

    def check(self) -> None:
        """Refuse work by a Problem, 429, if too much is unread; from any thread."""
        key, half = SENDER.get(), self._most // 2
        together = sum(min(one, half) for one in list(self._bytes.values()))
        if together > self._most or self._bytes[key] > (self._most if key is None else half):
            message = "large answers wait to be read; read them, and try again in a second"
            raise Problem(429, "busy", message, {"Retry-After": "1"})


class WorkPool:
    """Threads for work that must not run on the event loop, in lanes that do not wait for others.

    Work stops when its sender disconnects, or its time is over; see `Stopped`.
    """

    def __init__(self, limits: Limits) -> None:
        self.unread = Unread(limits.answers_bytes)
        late = "the time for an answer is over; narrow the request, or ask for less"
        cut = (
            "the time for writing is over; documents that were complete by then are stored: send "
            "the others again, fewer or shorter ones at a time"
        )
        long = f"{late}; counts go on where they ended if you ask again"
        unchanged = "the time for an answer is over, and nothing has changed; try again"
        unsettled = (
            "the time for an answer is over, and a change has begun that may still end; read what "
            "is there before you repeat it"
        )
        workers, half = limits.workers, max(1, limits.workers // 2)
        usual = workers + limits.waiting
        soon, patience = (limits.seconds, late), (_TURNS, limits.wait_seconds)
        priority = AnswerPriority()
        first, after = priority.answering, priority.yield_to_answers
        self._lanes: dict[LaneName, _Lane] = {
            "answers": _Lane("answer", workers, usual, *soon, "", *patience, first),
            "mining": _Lane("mine", half, limits.streams, limits.mine_seconds, long, around=after),
            "writing": _Lane("write", half, limits.writes, limits.write_seconds, cut, around=after),
            "files": _Lane("file", half, usual, limits.seconds, unchanged, unsettled, *patience),
            "bodies": _Lane("body", half, usual, *soon, "", *patience),
            "originals": _Lane("original", 1, limits.originals, *soon),
            "health": _Lane("health", 1, 1, *soon),
        }

    @property
    def admitted(self) -> int:
        """Number of requests that are worked on, or wait for a thread."""
        return sum(lane.admitted for lane in self._lanes.values())

    async def run(self, work: Callable[[], T], lane: LaneName = "answers") -> T:
        """Run a function in a thread of a lane, within its time.

        Raises:
            Problem: 429 if too many requests wait, or too much is unread; 504 if the time is over.
        """
        chosen = self._lanes[lane]
        give_back = chosen.take_place()

        def begun() -> T:
            self.unread.check()  # only now, since others may have become answers meanwhile
            return work()

        return await chosen.within(begun, monotonic() + chosen.seconds, give_back)

    async def stream(self, items: Callable[[], Iterator[T]]) -> AsyncGenerator[list[T], None]:
        """Yield the items of an iterator that runs in the threads for mining, some at a time.

        The iterator runs only as fast as its items are taken, and is closed with this generator.
        While it has none, the generator yields an empty list every few seconds. ``items`` is
        called in a thread.

        Raises:
            Problem: 429 before the first items, 504 if the time is over.
        """
        self.unread.check()
        lane = self._lanes["mining"]
        end = monotonic() + lane.seconds
        give_back = lane.take_place()
        batches, busy = _batches(items), Lock()

        def following() -> list[T] | None:
            with busy:
                return next(batches, None)

        def close() -> None:
            with busy:
                batches.close()
            give_back_memory()

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
            with suppress(Problem):
                lane.submit(close, give_back)

    def stop(self) -> None:
        """Answer who still waits for work that the service stops; to call on the event loop."""
        for lane in self._lanes.values():
            lane.stop()

    def close(self) -> None:
        """End the threads as soon as their work ends; what still waits is dropped."""
        for lane in self._lanes.values():
            lane.stopped = True
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


def give_back_memory() -> None:
    """Give memory that is free back to the system, where the C library keeps it."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
