"""Flows: what to ask a server as values, and drivers that ask over opensearch-py.

A flow is a generator: it yields a request, receives the server's answer, and goes on. What it
streams to its consumer it yields as `Emit`. So the same flow runs over a blocking client and over
an asyncio client. When sending fails, or the consumer stops early, the driver throws that into the
flow and still carries out what the flow yields to clean up: a point in time is always closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator, Iterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from opensearchpy import OpenSearch

from slice_os.stores.cluster.engines.engine import Engine
from slice_os.stores.cluster.server.answers import NotFoundError, complete
from slice_os.stores.cluster.server.connection import errors_explained
from slice_os.stores.cluster.server.detection import engine_of
from slice_os.threads import checkpoint

if TYPE_CHECKING:
    from opensearchpy import AsyncOpenSearch

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call:
    """A request: a client's method by name, such as ``cat.plugins``, and its arguments.

    The answer must have the fields that are needed.
    """

    method: str
    arguments: Mapping[str, Any]
    needed: tuple[str, ...] = ()

    def of(self, client: OpenSearch | AsyncOpenSearch) -> Any:
        """The client's answer; of the asyncio client, one to wait for."""
        return attrgetter(self.method)(client)(**self.arguments)


@dataclass(frozen=True, slots=True)
class Compute:
    """Not a request to the server but work that takes a while; its result is the answer."""

    work: Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Emit(Generic[T]):
    """Not a request but a result for the consumer of the flow."""

    value: T


Request: TypeAlias = Call | Compute
Flow: TypeAlias = Generator[Request, Any, T]
"""Yields requests and returns one result."""
Stream: TypeAlias = Generator[Request | Emit[T], Any, None]
"""Yields requests, and results as `Emit`."""

LIST_PLUGINS = Call("cat.plugins", {"format": "json"})


def sure(call: Call) -> Flow[Any]:
    """The answer to a request about an index that is as told.

    A node that starts denies every index until it knows them; then a search is no 404.
    """
    try:
        return (yield call)
    except NotFoundError:
        yield Call("search", {"index": call.arguments["index"], "body": {"size": 0}})
        return (yield call)


def _emitting(flow: Flow[T]) -> Stream[T]:
    """The flow as a stream of its one result."""
    yield Emit((yield from flow))


class _ConsumerStopped(Exception):  # noqa: N818  not an error
    """Thrown into a flow in place of `GeneratorExit`, on which a flow could not yield any more."""


class _Steps(Generic[T]):
    """What a flow yields, one after the other; each is answered, or fails, before the next."""

    def __init__(self, flow: Stream[T]) -> None:
        self.failed = False
        self._flow = flow
        self._resume = partial(flow.send, None)

    def __iter__(self) -> Iterator[Request | Emit[T]]:
        with suppress(StopIteration, _ConsumerStopped):
            while True:
                yield self._resume()

    def answer(self, answer: Any) -> None:
        """Go on with an answer."""
        self._resume = partial(self._flow.send, answer)

    def fail(self, error: BaseException) -> None:
        """Go on with an error, so that the flow can clean up."""
        self.failed = True
        thrown = _ConsumerStopped() if isinstance(error, GeneratorExit) else error
        self._resume = partial(self._flow.throw, thrown)


@dataclass(frozen=True, slots=True)
class Driver:
    """Runs flows over a blocking client; messages call the store by its location.

    There is a checkpoint before each request, but not while a flow that failed cleans up.
    """

    client: OpenSearch
    location: str

    def run(self, flow: Flow[T]) -> T:
        """The result of a flow."""
        (result,) = self.stream(_emitting(flow))
        return result

    def stream(self, flow: Stream[T]) -> Generator[T, None, None]:
        """The results of a flow, as they come."""
        steps = _Steps(flow)
        for step in steps:
            try:
                if isinstance(step, Emit):
                    steps.answer((yield step.value))
                else:
                    if not steps.failed:
                        checkpoint()
                    steps.answer(self._answer(step))
            except BaseException as error:
                steps.fail(error)

    def _answer(self, request: Request) -> Any:
        if isinstance(request, Compute):
            return request.work()
        with errors_explained(self.location):
            answer = request.of(self.client)
        return complete(answer, self.location, *request.needed)


@dataclass(frozen=True, slots=True)
class AsyncDriver:
    """Runs flows over an asyncio client; work that takes a while runs in a thread."""

    client: AsyncOpenSearch
    location: str

    @property
    def engine(self) -> Engine:
        """The engine of the server."""
        return engine_of(self.client)

    async def run(self, flow: Flow[T]) -> T:
        """The result of a flow."""
        async with aclosing(self.stream(_emitting(flow))) as results:
            return await anext(results)

    async def stream(self, flow: Stream[T]) -> AsyncGenerator[T, None]:
        """The results of a flow, as they come."""
        steps = _Steps(flow)
        for step in steps:
            try:
                if isinstance(step, Emit):
                    steps.answer((yield step.value))
                else:
                    steps.answer(await self._answer(step))
            except BaseException as error:
                steps.fail(error)

    async def _answer(self, request: Request) -> Any:
        if isinstance(request, Compute):
            return await asyncio.to_thread(request.work)
        with errors_explained(self.location):
            answer = await request.of(self.client)
        return complete(answer, self.location, *request.needed)
