"""How bulk requests are sent, sent again and held back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from threading import Event, Thread
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opensearchpy import OpenSearch

from slice_os import StoreError
from slice_os.errors import UnavailableError
from slice_os.stores.cluster.loading import bulk
from slice_os.stores.cluster.loading.bulk import BulkSender, Outcome, delete_action, index_action
from slice_os.stores.cluster.server.answers import (
    LONGEST_PAUSE_SECONDS,
    NotFoundError,
    pauses,
    retrying,
)
from slice_os.stores.cluster.server.connection import IndexHandle

from .double import NO_INDEX, Double, serving

BUSY = {"type": "rejected_execution_exception", "reason": "queue is full"}
UNFIT = {
    "type": "mapper_parsing_exception",
    "reason": "failed to parse field [year]",
    "caused_by": {"type": "illegal_argument", "reason": "no number", "caused_by": None},
}


@contextmanager
def sending(
    answer: Callable[[list[dict[str, Any]]], Any], limit: float = 60
) -> Iterator[tuple[BulkSender, list[list[str]]]]:
    """A sender, whose server answers the items of a request, and the ids of every request."""
    asked: list[list[str]] = []

    def respond(body: bytes) -> tuple[int, bytes]:
        lines = [orjson.loads(line) for line in body.splitlines()]
        items = [line for line in lines if "index" in line or "delete" in line]
        asked.append([next(iter(item.values()))["_id"] for item in items])
        answered = answer(items)
        if isinstance(answered, int):
            return answered, b"<html>a proxy in between</html>"
        return 200, orjson.dumps({"errors": False, "items": answered})

    with (
        serving(Double(respond)) as double,
        OpenSearch(double.url, max_retries=0) as client,
        closing(BulkSender(IndexHandle(client, "calls", "there/calls"), limit)) as sender,
    ):
        yield sender, asked


def done(item: dict[str, Any], status: int = 200, **more: Any) -> dict[str, Any]:
    ((kind, about),) = item.items()
    return {kind: {**about, "status": status, **more}}


def test_only_what_was_refused_is_sent_again() -> None:
    seen: set[str] = set()

    def answer(items: list[dict[str, Any]]) -> Any:
        answers = []
        for item in items:
            key = next(iter(item.values()))["_id"]
            first = key not in seen and int(key) % 3 == 0
            seen.add(key)
            answers.append(done(item, 429, error=BUSY) if first else done(item))
        return answers

    with sending(answer) as (sender, asked):
        for number in range(10):
            sender.add(index_action(number, str(number), {"number": number}))
        outcomes = list(sender.outcomes(wait=True))
    assert sorted(outcome.owner for outcome in outcomes) == list(range(10))
    assert not any(outcome.reason for outcome in outcomes)
    assert asked == [[str(number) for number in range(10)], ["0", "3", "6", "9"]]
    assert sender.retries == 1


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_request_that_failed_is_sent_again(status: int) -> None:
    answers = iter([status, status])

    def answer(items: list[dict[str, Any]]) -> Any:
        return next(answers, None) or [done(item) for item in items]

    with sending(answer) as (sender, asked):
        assert sender.deliver([index_action(7, "a", {})]) == [Outcome(7, "")]
    assert asked == [["a"]] * 3
    assert sender.retries == 2


def test_a_rejected_document_is_an_outcome() -> None:
    def answer(items: list[dict[str, Any]]) -> Any:
        return [done(items[0], 400, error=UNFIT), done(items[1]), done(items[2], 404)]

    with sending(answer) as (sender, _):
        assert sender.deliver(
            [index_action(1, "a", {}), index_action(2, "b", {}), delete_action(3, "c")]
        ) == [
            Outcome(1, "mapper_parsing_exception: failed to parse field [year] (no number)"),
            Outcome(2, ""),
            Outcome(3, ""),
        ]
    assert sender.retries == 0


@pytest.mark.parametrize(
    ("refusal", "message"),
    [
        (401, r"login refused \(401\)"),
        (403, r"not allowed \(403\)"),
        (413, r"too large \(413\); raise the limit"),
        ((403, "cluster_block_exception", "blocked by: [FORBIDDEN/8/write]"), "is read-only"),
        ((429, "cluster_block_exception", "blocked by: [flood-stage]"), "is read-only"),
        ((403, "security_exception", "no permissions"), "no permissions"),
        ((404, "index_not_found_exception", "no such index [calls]"), "no such index"),
        ((400, "index_closed_exception", "closed"), "the index is closed; open it"),
    ],
)
def test_what_every_document_would_meet_is_an_error(refusal: Any, message: str) -> None:
    def answer(items: list[dict[str, Any]]) -> Any:
        if isinstance(refusal, int):
            return refusal
        status, kind, reason = refusal
        error = {"type": kind, "reason": reason}
        return [done(item, status, error=error) for item in items]

    with sending(answer) as (sender, asked):
        sender.add(index_action(1, "a", {}))
        with pytest.raises(StoreError, match=f"^there/calls: .*{message}") as caught:
            list(sender.outcomes(wait=True))
    assert not isinstance(caught.value, UnavailableError)
    assert "\n" not in str(caught.value)
    assert len(asked) == 1


def test_a_cluster_that_is_starting_is_not_read_only() -> None:
    starting = {"type": "cluster_block_exception", "reason": "[SERVICE_UNAVAILABLE/1/state]"}
    answers = iter([503])

    def answer(items: list[dict[str, Any]]) -> Any:
        status = next(answers, 200)
        return [
            done(item, status, error=starting) if status == 503 else done(item) for item in items
        ]

    with sending(answer) as (sender, _):
        assert sender.deliver([index_action(1, "a", {})]) == [Outcome(1, "")]
    assert sender.retries == 1


def test_a_node_that_has_just_started_lacks_no_index() -> None:
    starting = b'{"error": {"type": "cluster_block_exception", "reason": "not recovered"}}'
    double = Double(lambda body: (503, starting) if body else (404, NO_INDEX))
    with serving(double), OpenSearch(double.url, max_retries=0) as client:
        handle = IndexHandle(client, "calls", "there/calls")
        for ask in (handle.exists, handle.mapping):
            with pytest.raises(UnavailableError, match="not recovered"):
                ask()
        double.answer = lambda body: (404, NO_INDEX)
        assert not handle.exists()
        with pytest.raises(NotFoundError):
            handle.mapping()


@pytest.mark.parametrize("answer", [b"default backend - 404", b'{"message": "no route"}'])
def test_a_proxy_without_its_server_denies_no_index(answer: bytes) -> None:
    with (
        serving(Double(lambda body: (404, answer))) as double,
        OpenSearch(double.url, max_retries=0) as client,
    ):
        handle = IndexHandle(client, "calls", "there/calls")
        for ask in (handle.exists, handle.mapping):
            with pytest.raises(UnavailableError, match="is there a proxy in between"):
                ask()


def test_retrying_ends_at_the_limit() -> None:
    def answer(items: list[dict[str, Any]]) -> Any:
        return [done(item, 429, error=BUSY) for item in items]

    with sending(answer, limit=0.3) as (sender, asked):
        sender.add(index_action(1, "a", {}))
        with pytest.raises(UnavailableError, match=r"queue is full.*run the same command again"):
            list(sender.outcomes(wait=True))
    assert len(asked) > 1


def test_closing_does_not_wait_for_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    with sending(lambda items: 503, limit=3_600) as (sender, asked):
        monkeypatch.setattr(bulk, "CHUNK_ACTIONS", 1)
        sender.add(index_action(1, "a", {}))
        while not asked:
            time.sleep(0.01)


def test_few_chunks_are_in_flight_while_the_server_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk, "CHUNK_ACTIONS", 10)
    going = Event()
    added = 0

    def answer(items: list[dict[str, Any]]) -> Any:
        going.wait()
        return [done(item) for item in items]

    def add(sender: BulkSender) -> None:
        nonlocal added
        for added in range(1, 201):
            sender.add(index_action(added, str(added), {}))

    with sending(answer) as (sender, asked):
        adding = Thread(target=add, args=[sender])
        adding.start()
        while len(asked) < bulk.WORKERS:
            time.sleep(0.01)
        adding.join(0.5)
        held = added
        going.set()
        adding.join()
        assert len(list(sender.outcomes(wait=True))) == 200
    assert held <= (bulk.CHUNKS_UNDER_WAY + 1) * bulk.CHUNK_ACTIONS


@given(st.floats(0.01, 600))
def test_pauses_double_vary_and_are_bounded(limit: float) -> None:
    found = [pause for pause, _ in zip(pauses(limit), range(12), strict=False)]
    assert all(0 < pause <= min(limit, LONGEST_PAUSE_SECONDS) for pause in found)
    assert all(0.05 * 2**step <= pause for step, pause in enumerate(found[:6]) if limit > 10)


def test_retrying_calls_again(monkeypatch: pytest.MonkeyPatch) -> None:
    troubles = [UnavailableError("busy"), UnavailableError("away")]

    @retrying
    def answer() -> str:
        if troubles:
            raise troubles.pop()
        return "there"

    assert answer() == "there"
    monkeypatch.setenv("SLICE_OS_RETRY_SECONDS", "0")
    troubles.append(UnavailableError("busy"))
    with pytest.raises(UnavailableError, match=r"busy \(for 0 s\); run the same command again"):
        answer()
    assert answer() == "there"
