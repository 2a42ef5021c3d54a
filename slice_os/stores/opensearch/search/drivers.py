"""Running flows over opensearch-py: one driver for its blocking client, one for asyncio.

When sending fails, or the consumer stops early, the driver throws that into the flow and still
carries out what the flow yields to clean up. So a point in time is closed in every case.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from opensearchpy import OpenSearch

from slice_os.stores.opensearch.search.exchange import (
    ClosePoint,
    Compute,
    Emit,
    Flow,
    ListPlugins,
    MultiSearch,
    OpenPoint,
    ReadMapping,
    ReadRecord,
    Request,
    Search,
    Stream,
    emitting,
)
from slice_os.stores.opensearch.server.answers import complete
from slice_os.stores.opensearch.server.handle import errors_explained

if TYPE_CHECKING:
    from opensearchpy import AsyncOpenSearch

T = TypeVar("T")


class _ConsumerStopped(Exception):  # noqa: N818  not an error
    """Thrown into a flow in place of `GeneratorExit`, on which a flow could not yield any more."""


@dataclass(frozen=True, slots=True)
class Driver:
    """Runs flows over a blocking client.

    Attributes:
        client: of the server.
        location: how messages call the store.
    """

    client: OpenSearch
    location: str

    def run(self, flow: Flow[T]) -> T:
        """The result of a flow."""
        (result,) = self.stream(emitting(flow))
        return result

    def stream(self, flow: Stream[T]) -> Generator[T, None, None]:
        """The results of a flow, as they come."""
        resume: Callable[[Any], Request | Emit[T]] = flow.send
        answer: Any = None
        while True:
            try:
                request = resume(answer)
            except (StopIteration, _ConsumerStopped):
                return
            try:
                if isinstance(request, Emit):
                    answer = yield request.value
                else:
                    answer = self._answer(request)
                resume = flow.send
            except GeneratorExit:
                resume, answer = flow.throw, _ConsumerStopped()
            except BaseException as error:
                resume, answer = flow.throw, error

    def _answer(self, request: Request) -> Any:
        if isinstance(request, Compute):
            return request.work()
        with errors_explained(self.location):
            answer = _send(self.client, request)
        return complete(answer, self.location, *_needed(request))


@dataclass(frozen=True, slots=True)
class AsyncDriver:
    """Runs flows over an asyncio client; work that takes a while runs in a thread.

    Attributes:
        client: of the server.
        location: how messages call the store.
    """

    client: AsyncOpenSearch
    location: str

    async def run(self, flow: Flow[T]) -> T:
        """The result of a flow; see `Driver.run`."""
        async with aclosing(self.stream(emitting(flow))) as results:
            return await anext(results)

    async def stream(self, flow: Stream[T]) -> AsyncGenerator[T, None]:
        """The results of a flow, as they come; see `Driver.stream`."""
        resume: Callable[[Any], Request | Emit[T]] = flow.send
        answer: Any = None
        while True:
            try:
                request = resume(answer)
            except (StopIteration, _ConsumerStopped):
                return
            try:
                if isinstance(request, Emit):
                    answer = yield request.value
                else:
                    answer = await self._answer(request)
                resume = flow.send
            except GeneratorExit:
                resume, answer = flow.throw, _ConsumerStopped()
            except BaseException as error:
                resume, answer = flow.throw, error

    async def _answer(self, request: Request) -> Any:
        if isinstance(request, Compute):
            return await asyncio.to_thread(request.work)
        with errors_explained(self.location):
            answer = await _send(self.client, request)
        return complete(answer, self.location, *_needed(request))


def _send(client: OpenSearch | AsyncOpenSearch, request: Request) -> Any:
    """The client's answer to a request; of the asyncio client, one to wait for."""
    match request:
        case MultiSearch(lines):
            return client.msearch(body=lines)
        case Search(body, params, index):
            return client.search(index=index, body=body, params=dict(params))
        case OpenPoint(index, params):
            return client.create_pit(index=index, params=dict(params))
        case ClosePoint(point):
            return client.delete_pit(body={"pit_id": [point]})
        case ListPlugins():
            return client.cat.plugins(format="json")
        case ReadMapping(name):
            return client.indices.get_mapping(index=name)
        case ReadRecord(index, key):
            return client.get(index=index, id=key)
    raise TypeError(f"{type(request).__name__} is not for the server")


def _needed(request: Request) -> tuple[str, ...]:
    """The fields that an answer to a request must have."""
    match request:
        case MultiSearch():
            return ("responses",)
        case Search():
            return ("hits",)
        case OpenPoint():
            return ("pit_id",)
    return ()
