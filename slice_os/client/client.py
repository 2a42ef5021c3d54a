"""The client of the service: the methods of the asynchronous one, which block here."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, cast

from slice_os.client.async_client import AsyncClient
from slice_os.errors import imported

if TYPE_CHECKING:
    import httpx

P = ParamSpec("P")
T = TypeVar("T")


def _returning(
    method: Callable[Concatenate[AsyncClient, P], Awaitable[T]],
) -> Callable[Concatenate[Client, P], T]:
    """The method of `Client` that returns what a coroutine of `AsyncClient` does."""

    @wraps(method)
    def called(client: Client, /, *arguments: P.args, **named: P.kwargs) -> T:
        return _result(method(client._calls, *arguments, **named))

    return called


def _yielding(
    method: Callable[Concatenate[AsyncClient, P], AsyncGenerator[T, None]],
) -> Callable[Concatenate[Client, P], Generator[T, None, None]]:
    """The method of `Client` that yields what an asynchronous generator of `AsyncClient` does."""

    @wraps(method)
    def called(
        client: Client, /, *arguments: P.args, **named: P.kwargs
    ) -> Generator[T, None, None]:
        items = method(client._calls, *arguments, **named)
        try:
            while True:
                yield _result(anext(items))
        except StopAsyncIteration:
            return
        finally:
            _result(items.aclose())

    return called


def _result(work: Awaitable[T]) -> T:
    """The result of a coroutine in which nothing waits for an event loop."""
    try:
        next(work.__await__())
    except StopIteration as end:
        return cast(T, end.value)
    raise AssertionError


class Client:
    """Asks a service; its methods are those of a `Corpus`, and return the same types.

    They are described at `AsyncClient`. All of them raise a `ServiceError`, or a subclass, if the
    service refuses the request or cannot answer it. If the service is too busy, the client repeats
    the request after the time that the service asks for.

    Args:
        address: of the service.
        api_key: sent with every request; None for none.
        store: the store to ask, unless a call names one; None if the service has only one.
        timeout: seconds to wait for an answer, or for the next piece of a stream.
        retries: number of times that a request is repeated.
        http: sends the requests, for proxies and certificates of your own; it stays open when
            the client closes.

    Raises a `MissingExtraError` without httpx, and an `InputError` if the address has a user or a
    password, which messages would repeat.
    """

    def __init__(
        self,
        address: str = "http://127.0.0.1:8000",
        *,
        api_key: str | None = None,
        store: str | None = None,
        timeout: float = 60.0,
        retries: int = 3,
        http: httpx.Client | None = None,
    ) -> None:
        module = imported("httpx", "The client", "client")
        self._http: httpx.Client = http or module.Client(timeout=timeout)
        self._owned = http is None
        sender = cast("httpx.AsyncClient", _Sender(self._http))
        self._calls = _Calls(address, api_key=api_key, store=store, retries=retries, http=sender)

    search = _returning(AsyncClient.search)
    mine = _returning(AsyncClient.mine)
    iter_mine = _yielding(AsyncClient.iter_mine)
    list_documents = _yielding(AsyncClient.list_documents)
    scan = _returning(AsyncClient.scan)
    tag = _returning(AsyncClient.tag)
    encode_phrases = _returning(AsyncClient.encode_phrases)
    encode_spans = _returning(AsyncClient.encode_spans)

    stores = _returning(AsyncClient.stores)
    field_values = _returning(AsyncClient.field_values)
    add = _returning(AsyncClient.add)
    document_ids = _yielding(AsyncClient.document_ids)
    document = _returning(AsyncClient.document)
    delete = _returning(AsyncClient.delete)
    highlights = _returning(AsyncClient.highlights)

    topics = _returning(AsyncClient.topics)
    topic = _returning(AsyncClient.topic)
    save_topic = _returning(AsyncClient.save_topic)
    delete_topic = _returning(AsyncClient.delete_topic)
    try_topic = _returning(AsyncClient.try_topic)
    suggest = _returning(AsyncClient.suggest)
    learn = _returning(AsyncClient.learn)
    counts = _returning(AsyncClient.counts)
    matches = _returning(AsyncClient.matches)
    matrix = _returning(AsyncClient.matrix)
    estimate = _returning(AsyncClient.estimate)
    labels = _yielding(AsyncClient.labels)
    agreement = _returning(AsyncClient.agreement)
    add_labels = _returning(AsyncClient.add_labels)
    take_back = _returning(AsyncClient.take_back)

    def close(self) -> None:
        """Close the connections."""
        if self._owned:
            self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class _Calls(AsyncClient):
    """An asynchronous client whose methods block, so that they never wait for an event loop."""

    async def _sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class _Sender:
    """A blocking client of httpx, with the methods of an asynchronous one."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http
        self.build_request = http.build_request

    async def send(self, request: httpx.Request, *, stream: bool) -> _Response:
        return _Response(self._http.send(request, stream=stream))


class _Response:
    """A response to a blocking client, with the methods of one to an asynchronous client."""

    def __init__(self, response: httpx.Response) -> None:
        self._response = response

    def __getattr__(self, name: str) -> Any:
        return getattr(self._response, name)

    async def aread(self) -> None:
        self._response.read()

    async def aclose(self) -> None:
        self._response.close()

    async def aiter_bytes(self) -> AsyncGenerator[bytes, None]:
        for piece in self._response.iter_bytes():
            yield piece
