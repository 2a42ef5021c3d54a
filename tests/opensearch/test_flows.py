"""Flows of requests, and their two drivers, without a server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from contextlib import aclosing, suppress
from functools import partial
from typing import Any

import pytest
from opensearchpy import exceptions

from slice_os import StoreError
from slice_os.errors import UnavailableError
from slice_os.query.filters import parse_where
from slice_os.stores.cluster.engines.opensearch_engine import OPENSEARCH
from slice_os.stores.cluster.search import exchange, flows
from slice_os.stores.cluster.search.exchange import (
    AsyncDriver,
    Call,
    Compute,
    Driver,
    Emit,
    Flow,
    Stream,
)
from slice_os.stores.cluster.search.metadata import resolve_where
from slice_os.stores.cluster.server.answers import NotFoundError

SURE = Call("search", {"index": "calls", "body": {"size": 0}})
PAGES = [[{"_id": "a", "sort": [1]}], [{"_id": "b", "sort": [2]}]]
GONE = exceptions.ConnectionError("N/A", "gone", Exception())


def scan(point: str) -> Stream[str]:
    hits = None
    while hits := (yield from flows.next_page(point, {"size": 1, "sort": ["n"]}, hits)):
        (hit,) = hits
        named = yield Compute(partial("hit {_id}".format_map, hit))
        yield Emit(named)


def pages() -> Generator[Any, Any, None]:
    yield from flows.at_point("calls", OPENSEARCH, scan)


class Client:
    """Answers with `PAGES`, then with none; notes what it was sent."""

    def __init__(self, **failures: Exception) -> None:
        self.sent: list[str] = []
        self._failures = failures
        self.transport = self

    def perform_request(self, method: str, url: str, **more: Any) -> Any:
        if method == "POST":
            assert url == "/calls/_search/point_in_time"
            return self._answer("create", {"pit_id": "point"})
        assert more["body"] == {"pit_id": "point"}
        return self._answer("delete", {})

    def search(self, body: Any, params: Any) -> Any:
        page = 0 if "search_after" not in body else body["search_after"][0]
        return self._answer("search", {"hits": {"hits": PAGES[page] if page < 2 else []}})

    def _answer(self, name: str, answer: Any) -> Any:
        self.sent.append(name)
        if name in self._failures:
            raise self._failures[name]
        return answer


class AsyncClient(Client):
    def _answer(self, name: str, answer: Any) -> Any:
        async def wait() -> Any:
            await asyncio.sleep(0)
            return Client._answer(self, name, answer)

        return wait()


def run(client: Client, consume: Callable[[str], None]) -> None:
    """Read the pages by the driver that goes with the client, as far as `consume` lets it."""
    if not isinstance(client, AsyncClient):
        for found in Driver(client, "there").stream(pages()):  # type: ignore[arg-type]
            consume(found)
        return

    async def read() -> None:
        async with aclosing(AsyncDriver(client, "there").stream(pages())) as stream:  # type: ignore[arg-type]
            async for found in stream:
                consume(found)

    asyncio.run(read())


BOTH = pytest.mark.parametrize("kind", [Client, AsyncClient])


def test_a_flow_is_driven_by_hand() -> None:
    flow = pages()
    assert next(flow).arguments["url"] == "/calls/_search/point_in_time"
    first = flow.send({"pit_id": "point"})
    assert first.method == "search"
    assert "index" not in first.arguments
    assert first.arguments["body"]["pit"]["id"] == "point"
    work = flow.send({"hits": {"hits": PAGES[0]}})
    assert isinstance(work, Compute)
    assert flow.send(work.work()) == Emit("hit a")
    second = flow.send(None)
    assert second.method == "search"
    assert second.arguments["body"]["search_after"] == [1]
    closing = flow.send({"hits": {"hits": []}})
    assert closing.arguments["body"] == {"pit_id": "point"}
    with pytest.raises(StopIteration):
        flow.send({})


def test_an_index_that_is_missing_has_no_mapping() -> None:
    flow = flows.resolve("calls", "there", OPENSEARCH)
    assert next(flow) == Call("indices.get_mapping", {"index": "calls"})
    assert flow.throw(NotFoundError("there: none")) == SURE
    with pytest.raises(StopIteration) as ended:
        flow.throw(NotFoundError("there: none"))
    assert ended.value.value is None


def no_types(_: Any) -> Flow[list[Any]]:
    yield from ()
    return []


@pytest.mark.parametrize(
    "begin",
    [
        partial(flows.resolve, "calls", "there", OPENSEARCH),
        partial(resolve_where, "calls", "there", parse_where({"domain": "bank"}), no_types),
    ],
    ids=["index", "field"],
)
def test_a_node_that_has_just_started_lacks_nothing(begin: Callable[[], Flow[Any]]) -> None:
    flow = begin()
    next(flow)
    assert flow.throw(NotFoundError("there: none")) == SURE
    with pytest.raises(UnavailableError, match="not recovered"):
        flow.throw(UnavailableError("there: state not recovered"))


@BOTH
def test_every_page_comes(kind: type[Client]) -> None:
    client, found = kind(), list[str]()
    run(client, found.append)
    assert found == ["hit a", "hit b"]
    assert client.sent == ["create", "search", "search", "search", "delete"]


@BOTH
def test_a_consumer_that_fails_leaves_no_point_in_time(kind: type[Client]) -> None:
    def fail(found: str) -> None:
        raise KeyError(found)

    client = kind()
    with pytest.raises(KeyError):
        run(client, fail)
    assert client.sent == ["create", "search", "delete"]


def test_a_consumer_that_stops_leaves_no_point_in_time() -> None:
    client = Client()
    stream = Driver(client, "there").stream(pages())  # type: ignore[arg-type]
    assert next(stream) == "hit a"
    stream.close()
    assert client.sent == ["create", "search", "delete"]


def test_a_driver_that_is_to_stop_asks_for_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    client, left = Client(), iter([None, None])

    def pause() -> None:
        if next(left, KeyError) is KeyError:
            raise KeyError

    found = []
    monkeypatch.setattr(exchange, "checkpoint", pause)
    with pytest.raises(KeyError):
        found.extend(Driver(client, "there").stream(pages()))  # type: ignore[arg-type]
    assert client.sent == ["create", "search", "delete"]


def test_a_task_that_is_cancelled_leaves_no_point_in_time() -> None:
    class Slow(AsyncClient):
        def search(self, body: Any, params: Any) -> Any:
            self.sent.append("search")
            return asyncio.sleep(60)

    client = Slow()

    async def cancel() -> None:
        stream = AsyncDriver(client, "there").stream(pages())  # type: ignore[arg-type]
        task = asyncio.ensure_future(anext(stream))
        while "search" not in client.sent:
            await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert task.cancelled()

    asyncio.run(cancel())
    assert client.sent == ["create", "search", "delete"]


@BOTH
def test_a_search_that_fails_leaves_no_point_in_time(kind: type[Client]) -> None:
    client = kind(search=GONE)
    with pytest.raises(StoreError, match=r"^there: no answer"):
        run(client, lambda found: None)
    assert client.sent == ["create", "search", "delete"]


@BOTH
def test_a_point_that_cannot_be_closed_hides_no_error(kind: type[Client]) -> None:
    client, found = kind(delete=GONE), list[str]()
    run(client, found.append)
    assert found == ["hit a", "hit b"]

    def fail(found: str) -> None:
        raise KeyError(found)

    with pytest.raises(KeyError):
        run(kind(delete=GONE), fail)
