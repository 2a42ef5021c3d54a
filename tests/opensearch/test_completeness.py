"""Answers that lack a part are errors, and never taken for whole; without a server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from opensearchpy import exceptions

from slice_os import StoreError
from slice_os.errors import UnavailableError
from slice_os.stores.cluster.search.exchange import AsyncDriver, Call, Driver, Flow, Request
from slice_os.stores.cluster.server.answers import complete, explain

WHOLE = {"total": 2, "successful": 2, "failed": 0}
PART = {"total": 2, "failed": 1, "failures": [{"reason": {"reason": "node is gone"}}]}
SEARCH = Call("search", {"body": {}}, ("hits",))
MULTI_SEARCH = Call("msearch", {"body": []}, ("responses",))
OPEN_POINT = Call("create_pit", {"index": "calls", "params": {}}, ("pit_id",))
HITS: dict[str, Any] = {"hits": {"hits": []}, "timed_out": False, "_shards": WHOLE}


class Client:
    """Answers everything alike."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def search(self, **_: Any) -> Any:
        return self._answer

    msearch = create_pit = search


class AsyncClient(Client):
    async def search(self, **_: Any) -> Any:
        return self._answer

    msearch = create_pit = search


def ask(request: Request) -> Flow[Any]:
    return (yield request)


@pytest.mark.parametrize(
    ("request_", "answer", "told"),
    [
        (SEARCH, HITS | {"_shards": PART}, r"incomplete, 1 of 2 shards failed \(node is gone"),
        (SEARCH, HITS | {"_shards": {"total": 3, "failed": 2}}, "2 of 3 shards failed; try"),
        (SEARCH, HITS | {"timed_out": True}, "incomplete, the server stopped at its own time"),
        (MULTI_SEARCH, {"responses": [HITS, HITS | {"_shards": PART}]}, "1 of 2 shards failed"),
        (MULTI_SEARCH, {"responses": [HITS | {"timed_out": True}, HITS]}, "own time limit"),
        (OPEN_POINT, {"pit_id": "p", "_shards": PART}, "1 of 2 shards failed"),
        (SEARCH, "<html>Log in</html>", "not one of OpenSearch or Elasticsearch; is there a proxy"),
        (MULTI_SEARCH, {"ok": True}, "not one of OpenSearch"),
    ],
)
def test_a_part_is_an_error(request_: Request, answer: Any, told: str) -> None:
    with pytest.raises(UnavailableError, match=told) as caught:
        Driver(Client(answer), "there").run(ask(request_))  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    with pytest.raises(UnavailableError, match=told):
        asyncio.run(AsyncDriver(AsyncClient(answer), "there").run(ask(request_)))  # type: ignore[arg-type]


def test_what_is_whole_is_as_it_was() -> None:
    refused = {"error": {"type": "script_exception"}, "status": 400}
    for answer in (HITS, {"responses": [HITS, refused]}, [{"name": "node-1"}], {"hits": {}}):
        assert complete(answer, "there") is answer


def test_an_answer_that_was_cut_may_pass() -> None:
    told = explain(exceptions.SerializationError('{"hits": {"hi', ValueError()), "there")
    assert isinstance(told, UnavailableError)
    assert str(told) == "there: the answer cannot be read; is there a proxy in between?"
    assert isinstance(told, StoreError)


def test_what_has_expired_can_be_read_again() -> None:
    cause = {"type": "search_context_missing_exception", "reason": "No search context found"}
    failed = {"type": "search_phase_execution_exception", "reason": "all shards failed"}
    body = {"error": {"root_cause": [cause], **failed, "caused_by": cause}, "status": 404}
    told = explain(exceptions.NotFoundError(404, failed["type"], body), "there")
    assert isinstance(told, UnavailableError)
    assert str(told).startswith("there: the server has let go of what was being read")


def test_a_reason_without_words_of_its_own_is_that_below() -> None:
    below = {"type": "search_phase_execution_exception", "reason": "missing shards [[calls][0]]"}
    cause = {"type": "search_phase_execution_exception", "reason": "", "caused_by": below}
    refused = exceptions.TransportError(503, "", {"error": {"root_cause": [], **cause}})
    told = str(explain(refused, "there"))
    assert told.startswith("there: no node has shards [[calls][0]]; wait for")
