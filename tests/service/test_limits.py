"""The service is bounded: in size, in time, and in how many requests wait."""

from __future__ import annotations

import itertools
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import orjson
import pytest
from pydantic import TypeAdapter
from starlette.testclient import TestClient

from slice_os import Corpus, Document, Hit, Hits, SpanEncoder
from slice_os.search.hit_builder import HitBuilder
from slice_os.search.listing import Search
from slice_os.service import known, nearness
from slice_os.service.app import create_app
from slice_os.service.asgi import steps, work
from slice_os.service.asgi.keys import new_key
from slice_os.service.resources import bodies
from slice_os.service.settings import Limits, ServiceSettings
from slice_os.stores.local import store as local
from slice_os.stores.local.store import LocalStore
from slice_os.threads import checkpoint, usable_cores
from slice_os.topics import folder as folders
from slice_os.verifier.cross_encoder import CrossEncoderVerifier

from .conftest import asking, in_thread

BODY = {"phrases": "cancel my plan"}


@contextmanager
def blocked(
    settings: ServiceSettings, monkeypatch: pytest.MonkeyPatch, rush: float = inf, **limits: Any
) -> Iterator[tuple[str, threading.Event, list[int]]]:
    """A server whose searches wait for an event; its address, the event, and the searches begun."""
    monkeypatch.setattr(work, "_RUSH_SECONDS", rush)
    limits = {"wait_seconds": inf, **limits}
    app = create_app(replace(settings, limits=replace(settings.limits, **limits)))
    release, begun = threading.Event(), []

    def search(*_arguments: object, **_options: object) -> Hits:
        begun.append(1)
        release.wait(60)
        return Hits(())

    monkeypatch.setattr(Corpus, "search", search)
    with in_thread(app) as address:
        try:
            yield address, release, begun
        finally:
            release.set()


def test_more_requests_than_can_wait_are_refused(
    settings: ServiceSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        blocked(settings, monkeypatch, workers=1, waiting=2) as (address, release, begun),
        ThreadPoolExecutor(6) as threads,
    ):
        asked = [
            threads.submit(httpx.post, f"{address}/search", json=BODY, timeout=60) for _ in range(6)
        ]
        refused = [one.result() for one in first_done(asked, 3)]
        assert {answer.status_code for answer in refused} == {429}
        assert refused[0].headers["Retry-After"] == "1"
        assert refused[0].json()["error"]["code"] == "busy"
        # Others are answered meanwhile.
        assert httpx.get(f"{address}/health").status_code == 200
        release.set()
        statuses = sorted(one.result().status_code for one in asked)
        assert statuses == [200, 200, 200, 429, 429, 429]
        assert len(begun) == 3


def first_done(futures: list[Any], count: int) -> list[Any]:
    found: list[Any] = []
    while len(found) < count:
        found = [one for one in futures if one.done()]
    return found


def test_an_answer_that_takes_too_long_is_none(
    settings: ServiceSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with blocked(settings, monkeypatch, workers=1, seconds=0.3) as (address, release, begun):
        answer = httpx.post(f"{address}/search", json=BODY)
        assert answer.status_code == 504
        assert answer.json()["error"]["code"] == "time_limit"
        # What waited for the only thread never begins.
        assert httpx.post(f"{address}/search", json=BODY).status_code == 504
        assert len(begun) <= 1
        release.set()
        wait_until(lambda: httpx.post(f"{address}/search", json=BODY).status_code == 200)


def test_a_place_is_free_when_its_thread_is(
    settings: ServiceSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {"workers": 1, "waiting": 1, "seconds": 0.2}
    with blocked(settings, monkeypatch, **limits) as (address, release, begun):

        def asked() -> int:
            return httpx.post(f"{address}/search", json=BODY, timeout=60).status_code

        # The first ones may end before they come to search.
        wait_until(lambda: asked() == 504 and bool(begun))
        assert asked() == 504
        # The first one still has its thread; the second one, which never began, has no place.
        assert "slice_os_working_requests 1.0" in httpx.get(f"{address}/metrics").text
        assert len(begun) == 1
        release.set()
        wait_until(lambda: "working_requests 0.0" in httpx.get(f"{address}/metrics").text)


@pytest.mark.parametrize("text", ["." * 6_000_000, "a b\n" * 1_500_000])
def test_reading_a_long_text_ends_soon_after_its_time(settings: ServiceSettings, text: str) -> None:
    app = create_app(replace(settings, limits=Limits(seconds=1)))
    with in_thread(app) as address:
        body = {**BODY, "documents": [{"text": text}]}
        assert httpx.post(f"{address}/scan", json=body, timeout=60).status_code == 504
        answered = time.process_time()
        wait_until(lambda: app.state.services.pool.admitted == 0)
        assert time.process_time() - answered < 3


@pytest.mark.parametrize("late", [True, False])
def test_an_answer_tells_whether_a_topic_was_added(
    settings: ServiceSettings, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    app = create_app(replace(settings, limits=Limits(seconds=0.2)))
    folder, name = app.state.services.topics, "_written" if late else "_content"
    real = getattr(folders, name)

    def slow(*given: Any) -> Any:
        time.sleep(0.5)
        checkpoint()
        return real(*given)

    monkeypatch.setattr(folders, name, slow)
    with asking(app) as client:
        answer = client.post("/topics", json={"name": "a", "phrases": ["b"]})
        assert answer.status_code == (201 if late else 504)
        assert late or "nothing has changed" in answer.json()["error"]["message"]
        assert [one.topic.name for one in folder.read()[0]] == (["a"] if late else [])


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("search", {"phrases": ["a" * 9_450] * 100}),
        ("search", {"phrases": ["a" * 9_000, "b" * 9_000], "counter_phrases": ["c" * 9_000]}),
        ("search", {"phrases": "a", "where": {"kind": [str(one) for one in range(1_001)]}}),
        ("mine", {"phrases": "a", "where": {f"f{one}": 1 for one in range(101)}}),
        ("mine", {"topics": ["a"], "where": {"kind": {"ne": ["b"] * 1_001}}}),
        ("topics", {"name": "a", "phrases": ["b"] * 1_001}),
        ("topics", {"name": "a", "phrases": ["b"], "counter_phrases": ["b"] * 1_001}),
        ("topics", {"name": "a", "phrases": ["b"], "must_match": ["b" * 10_001]}),
        ("topics", {"name": "a", "phrases": ["b"], "description": "b" * 10_001}),
        ("topics", {"name": "a", "phrases": ["b"], "where": {"c": ["d"] * 1_001}}),
        ("topics", {"name": "a", "all": ["b"] * 101}),
        ("topics", {"name": "a", "all": ["b"], "per": "c" * 10_001}),
        ("match", {"rule": {"name": "a", "any": ["b"] * 101}}),
        ("labels", {"labels": [{"topic": "a", "text": "b" * 10_001, "label": True}]}),
        (
            "labels",
            {"labels": [{"topic": "a", "text": "b", "doc_id": "c" * 10_001, "label": True}]},
        ),
        ("mine", {"phrases": "a", "limit": 1e308}),
        ("mine", {"phrases": "a", "max_count": 2**63}),
        ("search", {"phrases": "a" * 10_001}),
        ("search", {"phrases": ["a"] * 101}),
        ("search", {"phrases": []}),
        ("search", {"phrases": "a", "top_k": 2_001}),
        ("search", {"phrases": "a", "threshold": 1.5}),
        ("scan", {"phrases": "a", "documents": [{"text": "b"}] * 1_001}),
        ("encode", {"phrases": ["a"] * 1_001}),
        ("export", {"hits": [{}] * 5_001}),
    ],
)
def test_sizes_have_bounds(client: TestClient, path: str, body: dict[str, Any]) -> None:
    assert client.post(f"/{path}", json=body).status_code == 422


def test_bodies_have_bounds(settings: ServiceSettings) -> None:
    app = create_app(replace(settings, limits=Limits(body_bytes=1_000)))
    with asking(app) as client:
        answer = client.post("/search", json={"phrases": "a" * 1_000})
        assert answer.status_code == 413
        assert answer.json()["error"]["code"] == "too_large"
        assert client.post("/search", json=BODY).status_code == 200


def fields(value: str, number: int) -> str:
    return ",".join(f'"f{one}":{value}' for one in range(number))


@pytest.mark.parametrize(
    ("path", "content", "status"),
    [
        ("search", f"{{{fields('1', 100_000)}}}", 413),
        ("search", f"{{{fields('1', 20_000)}}}", 422),
        ("scan", f"{{{fields('1', 200_000)}}}", 422),
        ("scan", f"{{{fields('{}', 200_000)}}}", 422),
        (
            "scan",
            f'{{"phrases":"a","documents":[{{"text":"","metadata":{{{fields("[]", 900)}}}}}]}}',
            422,
        ),
        ("scan", f'{{"phrases":"a","documents":[{",".join(["[]"] * 200_000)}]}}', 422),
        ("scan", f'{{"phrases":"a","documents":[{",".join(["{}"] * 200_000)}]}}', 422),
        ("scan", f'{{"phrases":"a","documents":[{",".join(["{}"] * 900)}]}}', 422),
        ("tag", "[" * 200_000, 422),
        ("tag", '{"documents":' * 200 + "1" + "}" * 200, 422),
        ("tag", "9" * 5_000, 422),
        ("tag", f'{{"documents":[{",".join(["1"] * 2_000_000)}]}}', 422),
        ("tag", f'{{"{"long" * 200_000}":1}}', 422),
        ("search", '{"phrases":"a","threshold":NaN}', 422),
        ("search", '{"phrases":"a",', 422),
        ("search", "null", 422),
        ("search", "", 422),
        ("search", '{"phrases":"\\ud800"}', 422),
        ("search", '{"phrases":"a","facets":["\\ud800"]}', 422),
        ("export?format=csv", '{"hits":[{"clause":{"\\ud800":1}}]}', 400),
    ],
)
def test_a_body_that_is_refused_costs_little(
    client: TestClient, path: str, content: str, status: int
) -> None:
    headers = {"Content-Type": "application/json"}
    answer = client.post(f"/{path}", content=content, headers=headers)
    assert answer.status_code == status
    assert len(answer.text) < 2_000
    more = re.search(r"and (\d+) more", answer.text)
    assert more is None or int(more[1]) < 5_000


def test_strings_hold_any_number_of_brackets_and_commas(client: TestClient) -> None:
    text = '[{,"\\' * 200_000 + "I want to cancel my subscription."
    body = {
        "phrases": "cancel my plan",
        "documents": [{"text": "a, b. " * 9, "metadata": {"a": text}}],
    }
    assert client.post("/scan", json=body).status_code == 200


def test_every_list_in_a_request_ends_at_its_first_fault(client: TestClient) -> None:
    def lists(schema: object) -> Iterator[Any]:
        if isinstance(schema, dict):
            if schema.get("type") == "list":
                yield schema
            for value in schema.values():
                yield from lists(value)
        elif isinstance(schema, (list, tuple)):
            for value in schema:
                yield from lists(value)

    found = [
        one
        for route in client.app.state.routes
        if route.body_field is not None
        for one in lists(TypeAdapter(route.body_field.field_info.annotation).core_schema)
    ]
    assert len(found) > 20
    assert all(one.get("fail_fast") for one in found)


def test_all_bodies_together_have_a_bound(settings: ServiceSettings) -> None:
    limits = Limits(body_bytes=1_000_000, bodies_bytes=2_000_000, idle_seconds=0.5)
    app = create_app(replace(settings, limits=replace(limits, bytes_per_second=100)))
    with in_thread(app) as address, ExitStack() as open_sockets:
        for _ in range(2):
            open_sockets.enter_context(raw(address, "/scan", b" " * 450_000, 900_000))
        third = {"documents": [{"text": "a" * 600_000}], "phrases": "b"}

        def refused() -> bool:
            return httpx.post(f"{address}/scan", json=third, timeout=60).status_code == 429

        wait_until(refused)
        # Short ones come in, and long ones as soon as others are gone.
        assert httpx.post(f"{address}/search", json=BODY, timeout=60).status_code == 200
        open_sockets.close()
        wait_until(lambda: not refused())


def test_requests_without_a_body_hold_no_room_for_one(settings: ServiceSettings) -> None:
    limits = Limits(bodies_bytes=2 << 20, idle_seconds=30.0)
    with in_thread(create_app(replace(settings, limits=limits))) as address, ExitStack() as sockets:
        host, port = address.removeprefix("http://").split(":")
        for path in ("health", "documents", "nothing") * 2:
            one = sockets.enter_context(socket.create_connection((host, int(port)), 20))
            head = f"GET /{path} HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n"
            one.sendall(head.encode())
            assert one.recv(12) in (b"HTTP/1.1 200", b"HTTP/1.1 404")
        body = {"documents": [{"text": "a" * 100_000}], "phrases": "b"}
        assert httpx.post(f"{address}/scan", json=body, timeout=20).status_code == 200


def raw(address: str, path: str, content: bytes, length: int, header: str = "") -> socket.socket:
    """A request whose body may be shorter than it says; the answer is still to be read."""
    host, port = address.removeprefix("http://").split(":")
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.connect((host, int(port)))
    connection.settimeout(20)
    kind = "Content-Type: application/json\r\n"
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{kind}Content-Length: {length}\r\n"
    connection.sendall(f"{head}{header}\r\n".encode() + content)
    return connection


def test_many_silent_connections_make_room_for_others(settings: ServiceSettings) -> None:
    app = create_app(replace(settings, limits=Limits(connections=20)))
    with in_thread(app) as address, ExitStack() as open_sockets:
        host, port = address.removeprefix("http://").split(":")
        half = f"GET /health HTTP/1.1\r\nHost: {host}:{port}\r\n".encode()
        silent = []
        for number in range(60):
            one = open_sockets.enter_context(socket.create_connection((host, int(port)), 20))
            one.sendall(half if number % 2 else b"")
            silent.append(one)
            # By a connection of its own: one that is kept open may be ended as it is used.
            assert number % 20 or httpx.get(f"{address}/health", timeout=20).status_code == 200
        with suppress(ConnectionResetError):
            assert not silent[0].recv(1)  # the oldest ones were ended
        silent[-1].sendall(b"\r\n")
        assert silent[-1].recv(12) == b"HTTP/1.1 200"


def test_connections_that_are_kept_open_make_room_for_others(settings: ServiceSettings) -> None:
    app = create_app(replace(settings, limits=Limits(connections=20)))
    with in_thread(app) as address, ExitStack() as open_sockets:
        for _ in range(60):
            one = open_sockets.enter_context(httpx.Client(base_url=address, timeout=20))
            assert one.get("/health").status_code == 200


def test_a_body_that_does_not_go_on_is_not_waited_for(settings: ServiceSettings) -> None:
    app = create_app(replace(settings, limits=Limits(idle_seconds=0.2)))
    with in_thread(app) as address, raw(address, "/search", b"{", 1_000_000) as sender:
        assert b" 408 " in sender.recv(100)


@pytest.mark.parametrize("before", [b"", b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"])
@pytest.mark.parametrize("begun", [b"", b"GET /health HTTP/1.1\r\nHost: 127.0.0.1"])
def test_headers_that_do_not_go_on_are_not_waited_for(
    settings: ServiceSettings, before: bytes, begun: bytes
) -> None:
    app = create_app(replace(settings, limits=Limits(idle_seconds=0.2)))
    with in_thread(app) as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as sender:
            sender.sendall(before)
            assert not before or b" 200 " in sender.recv(4_096)
            sender.sendall(begun)
            while sender.recv(4_096):  # until it is closed
                pass


CHUNKED = b"Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (b"POST /search HTTP/1.1\r\n" + CHUNKED, b"1\r\n \r\n" * 1_200),
        (b"POST /nothing HTTP/1.1\r\n" + CHUNKED, b"1\r\n \r\n" * 1_200),
        (b"POST /nothing HTTP/1.1\r\n" + CHUNKED, b"no size\r\n"),
        (b"POST /nothing HTTP/1.1\r\n" + CHUNKED, b"ffffff\r\n"),
        (b"POST /nothing HTTP/1.1\r\n" + CHUNKED, b"0\r\n" + b"a:\r\n" * 501),
        (b"POST /search HTTP/1.1\r\nContent-Length: 2\r\n" + CHUNKED, b""),
        (b"GET /health HTTP/1.1\r\n" + b"a:\r\n" * 501, b""),
        (b"GET /health?" + b"a&" * 501 + b" HTTP/1.1\r\n", b""),
        (b"GET /health HTTP/1.1\r\na: " + b"a" * (1 << 16) + b"\r\n", b""),
    ],
)
def test_what_is_long_to_read_for_its_size_ends_the_connection(
    settings: ServiceSettings, caplog: pytest.LogCaptureFixture, head: bytes, body: bytes
) -> None:
    app = create_app(replace(settings, limits=Limits(idle_seconds=1.0)))
    with in_thread(app) as address, ThreadPoolExecutor(1) as threads:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as sender:

            def read() -> bytes:
                answer = b""
                with suppress(ConnectionResetError):
                    while part := sender.recv(4_096):  # until it is closed
                        answer += part
                return answer

            reading = threads.submit(read)
            with suppress(ConnectionError):
                sender.sendall(head + b"Host: 127.0.0.1\r\n\r\n" + body)
            assert reading.result()[9:12] in (b"400", b"404", b"")
        assert httpx.get(f"{address}/health").status_code == 200
    assert not [one for one in caplog.records if one.exc_info]


def test_large_chunks_may_come_one_by_one(settings: ServiceSettings) -> None:
    content = orjson.dumps({"phrases": "a", "documents": [{"text": "b" * 200_000}]})
    chunks = [content[start : start + 400] for start in range(0, len(content), 400)]
    with in_thread(create_app(settings)) as address:
        headers = {"Content-Type": "application/json"}
        answer = httpx.post(f"{address}/scan", content=iter(chunks), headers=headers, timeout=120)
        assert answer.status_code == 200


@pytest.mark.parametrize(
    ("header", "status"), [("", b" 401 "), ("Origin: http://elsewhere.example\r\n", b" 403 ")]
)
def test_who_may_not_ask_is_refused_before_the_body(
    settings: ServiceSettings, tmp_path: Path, header: str, status: bytes
) -> None:
    new_key(tmp_path / "keys.jsonl", "ann", ["read"])
    app = create_app(replace(settings, keys=tmp_path / "keys.jsonl"))
    with in_thread(app) as address, raw(address, "/search", b"", 1_000_000, header) as sender:
        assert status in sender.recv(100)


def test_slow_readers_are_left_and_do_not_hold_up_others(
    settings: ServiceSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = Limits(streams=2, idle_seconds=5.0, bytes_per_second=1 << 30)
    app = create_app(replace(settings, limits=limits))
    pool = app.state.services.pool
    with app.state.services.stores.writing() as corpus:
        (hit, *_) = corpus.search("cancel my plan")
    long = replace(hit, text=hit.text * 1_000)
    monkeypatch.setattr(Search, "hits", lambda _: itertools.repeat(long))
    content = orjson.dumps(BODY)
    with in_thread(app) as address, ExitStack() as open_sockets:
        for _ in range(2):
            reader = open_sockets.enter_context(raw(address, "/mine", content, len(content)))
            assert b" 200 " in reader.recv(20)
        assert httpx.post(f"{address}/mine", json=BODY).status_code == 429
        assert httpx.post(f"{address}/search", json=BODY).status_code == 200
        wait_until(lambda: pool.admitted == 0)


def test_large_answers_that_nobody_reads_hold_up_their_key_alone(
    settings: ServiceSettings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keys = tmp_path / "keys.jsonl"
    ann, bo = ({"Authorization": f"Bearer {new_key(keys, one, ['read'])}"} for one in "ab")
    limits = Limits(answers_bytes=16_000_000, idle_seconds=2.0, bytes_per_second=1 << 24)
    app = create_app(replace(settings, limits=limits, keys=keys))
    monkeypatch.setattr(LocalStore, "document_text", lambda *_: "a" * 10_000_000)
    with in_thread(app) as address:
        host, port = address.removeprefix("http://").split(":")

        def asked(key: dict[str, str]) -> int:
            address_of = f"{address}/documents/contract.txt"
            return httpx.get(address_of, headers=key, timeout=60).status_code

        assert asked(ann) == 200
        with socket.create_connection((host, int(port)), 20) as reader:
            head = f"GET /documents/contract.txt HTTP/1.1\r\nHost: {host}\r\n"
            reader.sendall(f"{head}Authorization: {ann['Authorization']}\r\n\r\n".encode())
            assert b" 200 " in reader.recv(20)
            assert (asked(ann), asked(bo)) == (429, 200)
            # Who does not read is left, and nothing of the answer is kept.
            wait_until(lambda: asked(ann) == 200)


def test_an_answer_has_a_bound(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "_MOST_BYTES", 1 << 20)
    text = "I want to cancel my subscription. " * 5
    body = {"documents": [{"text": text, "metadata": {"a": "b" * 300_000}}], **BODY}
    answer = client.post("/scan", json={**body, "threshold": 0.3, "verify": False})
    assert answer.status_code == 400
    assert "the answer has more than 1 MiB; ask for less" in answer.json()["error"]["message"]
    (hit,) = client.post("/search", json={**BODY, "top_k": 1}).json()["hits"]
    monkeypatch.setattr(bodies, "_MOST_BYTES", 1_000)
    answer = client.post("/export?format=labelstudio.json", json={"hits": [hit] * 20})
    assert "hits.labelstudio.json has more than 0 MiB" in answer.json()["error"]["message"]


def test_all_who_ask_whether_it_is_ready_have_one_answer(
    settings: ServiceSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, begun = threading.Event(), []
    real = LocalStore.info

    def slow(store: LocalStore) -> Any:
        if threading.current_thread().name.startswith("health"):
            begun.append(1)
            release.wait(60)
        return real(store)

    monkeypatch.setattr(LocalStore, "info", slow)
    app = create_app(replace(settings, limits=Limits(workers=1, waiting=1)))
    with in_thread(app) as address, ThreadPoolExecutor(5) as threads:
        assert httpx.post(f"{address}/search", json=BODY, timeout=60).status_code == 200  # opens it
        asked = [threads.submit(httpx.get, f"{address}/ready", timeout=60) for _ in range(5)]
        wait_until(lambda: bool(begun))
        assert httpx.post(f"{address}/search", json=BODY, timeout=60).status_code == 200
        release.set()
        assert {one.result().status_code for one in asked} == {200}
        assert len(begun) < 5


def wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(600):
        if holds():
            return
        threading.Event().wait(0.05)
    raise AssertionError("it does not hold after half a minute")


def test_no_key_has_more_than_half_of_the_places(
    settings: ServiceSettings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    keys = tmp_path / "keys.jsonl"
    ann, bo = ({"Authorization": f"Bearer {new_key(keys, one, ['read'])}"} for one in "ab")
    settings = replace(settings, keys=keys)
    with (
        blocked(settings, monkeypatch, workers=2, waiting=2) as (address, release, begun),
        ThreadPoolExecutor(4) as threads,
    ):

        def ask(key: dict[str, str]) -> Future[httpx.Response]:
            return threads.submit(
                httpx.post, f"{address}/search", json=BODY, headers=key, timeout=60
            )

        asked = [ask(ann), ask(ann)]
        wait_until(lambda: len(begun) == 2)
        assert ask(ann).result().status_code == 429
        asked.append(ask(bo))
        release.set()
        assert {one.result().status_code for one in asked} == {200}


def test_a_write_that_is_cut_off_is_told_and_leaves_nothing_half(
    settings: ServiceSettings, encoder: SpanEncoder, tmp_path: Path
) -> None:
    with Corpus(tmp_path / "own", encoder) as corpus:
        corpus.add([Document("long", "As it was before.")])
    own = replace(settings, stores={"own": str(tmp_path / "own")})
    with asking(create_app(replace(own, limits=Limits(write_seconds=0.5)))) as client:
        text = "".join(f"Either party may end agreement number {n}. " for n in range(40_000))
        answer = client.post("/documents", json={"documents": [{"id": "long", "text": text}]})
        assert answer.status_code == 504
        assert "send the others again" in answer.json()["error"]["message"]
        store = client.app.state.services.stores.get().store
        with client.app.state.services.stores.writing():  # the work has ended
            assert client.get("/documents/long").json()["text"] == "As it was before."
            assert store.verify() == []


def test_phrases_that_come_together_do_not_disturb_each_other(
    encoder: SpanEncoder, client: TestClient
) -> None:
    phrases = [f"cancel plan number {number}" for number in range(10)]

    def vector(phrase: str) -> Any:
        # On a busy machine some are asked to come again.
        while (answer := client.post("/encode", json={"phrases": [phrase]})).status_code == 429:
            time.sleep(0.1)
        return answer.json()["phrases"][0] if answer.status_code == 200 else answer.status_code

    with ThreadPoolExecutor(12) as threads:
        *found, wrong = threads.map(vector, [*phrases, "..."])
    assert wrong == 400
    assert np.allclose(found, encoder.encode_phrases(phrases), atol=1e-6)


def test_in_a_rush_nobody_waits_for_long(
    settings: ServiceSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {"workers": 1, "wait_seconds": 0.05}
    with (
        blocked(settings, monkeypatch, **limits) as (address, release, begun),
        ThreadPoolExecutor(2) as threads,
    ):
        asked = [threads.submit(httpx.post, f"{address}/search", json=BODY, timeout=60)]
        wait_until(lambda: len(begun) == 1)
        asked.append(threads.submit(httpx.post, f"{address}/search", json=BODY, timeout=60))
        waits = "slice_os_working_requests 2.0"
        wait_until(lambda: asked[1].done() or waits in httpx.get(f"{address}/metrics").text)
        waited = time.monotonic() + 0.1
        wait_until(lambda: time.monotonic() > waited)
        release.set()
        assert [one.result().status_code for one in asked] == [200, 429]
        assert httpx.post(f"{address}/search", json=BODY, timeout=60).status_code == 200


def test_work_that_does_not_end_is_told_when_the_service_stops(
    settings: ServiceSettings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    app = create_app(replace(settings, limits=Limits(stop_seconds=0.1)))
    with app.state.services.stores.writing() as corpus:
        (hit, *_) = corpus.search("cancel my plan")
    release, begun = threading.Event(), []

    def search(*_arguments: object, **_options: object) -> Iterator[Hit]:
        begun.append(1)
        release.wait(60)
        return iter(())

    def mine(_: Search) -> Iterator[Hit]:
        yield from itertools.repeat(hit, 64)
        yield from search()

    monkeypatch.setattr(Corpus, "search", search)
    monkeypatch.setattr(Search, "hits", mine)
    with ThreadPoolExecutor(2) as threads:
        try:
            with in_thread(app) as address:
                asked = [
                    threads.submit(httpx.post, f"{address}/{path}", json=BODY, timeout=60)
                    for path in ("search", "mine")
                ]
                wait_until(lambda: len(begun) == 2)
            searched, mined = (one.result() for one in asked)
        finally:
            release.set()
    assert (searched.status_code, mined.status_code) == (503, 200)
    *hits, _, last = mined.text.splitlines()
    assert len(hits) == 64
    for line in searched.text, last:
        assert orjson.loads(line)["error"]["code"] == "stopping"
    assert not [one for one in caplog.records if one.levelname == "ERROR"]


def test_other_work_goes_on_beside_searches_but_after_them(
    settings: ServiceSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        blocked(settings, monkeypatch, workers=usable_cores()) as (address, release, begun),
        ThreadPoolExecutor(usable_cores()) as threads,
    ):
        for _ in range(usable_cores()):
            threads.submit(httpx.post, f"{address}/search", json=BODY, timeout=60)
        wait_until(lambda: len(begun) == usable_cores())
        mined = httpx.post(f"{address}/mine", json=BODY, timeout=60).text.splitlines()
        assert orjson.loads(mined[-1])["summary"]["complete"] is True
        release.set()

    monkeypatch.setattr(steps, "_COURTESY", 1e9)
    monkeypatch.setattr(steps, "_LONGEST_PAUSE", 60.0)
    priority, order, began = steps.AnswerPriority(), [], threading.Event()

    def other() -> None:
        with priority.yield_to_answers():
            began.set()
            checkpoint()
            order.append("other")

    with ExitStack() as answers:
        for _ in range(usable_cores()):
            answers.enter_context(priority.answering())
        thread = threading.Thread(target=other)
        thread.start()
        began.wait(60)
        order.append("answer")
    thread.join(60)
    assert order == ["answer", "other"]


@pytest.mark.parametrize(
    ("path", "options"),
    [("search", {"top_k": 200, "order": "probability"}), ("mine", {"threshold": 0})],
)
def test_what_nobody_waits_for_is_not_read(
    settings: ServiceSettings, monkeypatch: pytest.MonkeyPatch, path: str, options: dict[str, Any]
) -> None:
    app, run, go = create_app(settings), CrossEncoderVerifier._run, threading.Event()
    read: list[int] = []

    def slow(verifier: CrossEncoderVerifier, rows: Any) -> Any:
        read.append(len(rows))
        assert go.wait(60)
        return run(verifier, rows)

    monkeypatch.setattr(CrossEncoderVerifier, "_run", slow)
    phrases = [f"I want to cancel plan number {number}" for number in range(100)]
    content = orjson.dumps({"phrases": phrases, **options})
    with in_thread(app) as address:
        with raw(address, f"/{path}", content, len(content)):
            wait_until(lambda: bool(read))
        wait_until(lambda: app.state.services.pool.admitted == 0)
        begun = len(read)
        go.set()
        answer = httpx.post(f"{address}/search", json={**BODY, "top_k": 3}, timeout=60)
        assert [bool(one["probability"]) for one in answer.json()["hits"]] == [True] * 3
    assert sum(read[begun:]) < 50


NEAR = {"phrases": ["I want to cancel my subscription", "cancel my subscription"], "threshold": 0}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "topics/near/counts", None),
        ("POST", "topics/near/estimate", None),
        ("POST", "topics/near/suggest", None),
        ("POST", "matrix", {"topics": ["near", "far"]}),
        ("POST", "mine", {"topics": ["near"], "listing": "without"}),
        ("POST", "match", {"topics": ["rule"]}),
        ("POST", "match", {"rule": {"name": "a", "any": ["near"]}}),
    ],
)
def test_topics_near_too_much_of_a_store_are_refused_at_once(
    near_topics: TestClient, method: str, path: str, body: Any
) -> None:
    answer = near_topics.request(method, f"/{path}", json=body)
    assert answer.status_code == 400, answer.text
    told = answer.json()["error"]["message"]
    assert "topic 'near' comes near some" in told
    assert "give it fewer phrases" in told


def test_topics_near_too_much_of_a_store_do_not_hide_the_others(near_topics: TestClient) -> None:
    for _ in range(2):
        answer = near_topics.get("/counts").json()
        assert [one["topic"] for one in answer["topics"]] == ["far"]
        assert [one.split()[1] for one in answer["problems"]] == ["'near'", "'near'"]
    answer = near_topics.post("/matrix", json={"topics": ["far"]})
    assert answer.status_code == 200


def test_a_topic_is_near_what_a_request_asks_for(near_topics: TestClient) -> None:
    nowhere = {"topics": ["near"], "where": {"_id": "nowhere"}}
    assert near_topics.post("/matrix", json=nowhere).status_code == 200
    # Alone it is near nothing at its own cut, whatever is counted beside it.
    counts = [near_topics.get(f"/topics/{name}/counts").status_code for name in ("far", "near")]
    assert counts == [200, 400]


def test_counts_ask_a_store_for_its_figures_three_times(
    near_topics: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    info, asked = Corpus.info, []

    def counted(corpus: Corpus) -> Any:
        asked.append(1)
        return info(corpus)

    monkeypatch.setattr(Corpus, "info", counted)
    assert near_topics.get("/topics/far/counts").status_code == 200
    assert len(asked) == 3  # to refuse it, to count, and to choose what is counted together


def test_a_topic_comes_near_every_place_that_is_read(near_topics: TestClient) -> None:
    told = near_topics.get("/topics/near/counts").json()["error"]["message"]
    with near_topics.app.state.services.stores.writing() as corpus:
        read = list(corpus.iter_mine(NEAR["phrases"], threshold=0, verify=False))
    assert f"comes near some {len(read)} places" in told
    assert len(read) > 2 * corpus.info().passages


def test_some_passages_tell_how_much_of_a_store_a_topic_is_near(
    near_topics: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "SCAN_PASSAGES", 1)
    monkeypatch.setattr(nearness, "_LOOKED_INTO", 3)
    monkeypatch.setattr(nearness, "_FIRST", 1)
    hits, read = HitBuilder.hits, []

    def counted(builder: HitBuilder, row: int, **options: Any) -> Any:
        read.append(row)
        return hits(builder, row, **options)

    monkeypatch.setattr(HitBuilder, "hits", counted)
    told = near_topics.get("/topics/near/counts").json()["error"]["message"]
    assert len(read) == 3
    with near_topics.app.state.services.stores.writing() as corpus:
        real = len(list(corpus.iter_mine(NEAR["phrases"], threshold=0, verify=False)))
    (number,) = re.findall(r"comes near some (\d+) places", told)
    assert real / 2 <= int(number) <= 2 * real


def test_a_topic_near_far_too_much_is_counted_no_further(
    near_topics: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "SCAN_PASSAGES", 1)
    told = near_topics.get("/topics/near/counts").json()["error"]["message"]
    (every,) = re.findall(r"comes near some (\d+) places", told)
    monkeypatch.setattr(nearness, "_FAR", 1)
    near_topics.put("/topics/also", json=NEAR)
    told = near_topics.get("/topics/also/counts").json()["error"]["message"]
    (number,) = re.findall(r"comes near more than (\d+) places", told)
    assert 6 < int(number) < int(every)


def test_odd_margins_do_not_push_out_what_is_known(
    near_topics: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known, "MOST_VALUES", 2)
    near_topics.put("/topics/edge", json={**NEAR, "threshold": 0.99})
    assert near_topics.get("/topics/near/counts").status_code == 400
    for margin in (0.011, 0.012, 0.013):
        answer = near_topics.post("/topics/edge/suggest", json={"margin": margin})
        assert answer.status_code == 200
    scan, asked = LocalStore.scan, []

    def counted(*arguments: Any, **options: Any) -> Any:
        asked.append(1)
        return scan(*arguments, **options)

    monkeypatch.setattr(LocalStore, "scan", counted)
    assert near_topics.get("/topics/near/counts").status_code == 400
    assert not asked


def test_near_misses_are_bounded_where_they_are_looked_for(near_topics: TestClient) -> None:
    near_topics.put("/topics/edge", json={**NEAR, "threshold": 0.99})
    nowhere = {"_id": "nowhere"}
    asked: list[dict[str, Any]] = [{"margin": 0.01}, {"margin": 1}, {"margin": 1, "where": nowhere}]
    answers = [near_topics.post("/topics/edge/suggest", json=one) for one in asked]
    assert [one.status_code for one in answers] == [200, 400, 200]
    assert "topic 'edge' comes near some" in answers[1].json()["error"]["message"]


def test_a_topic_near_too_much_of_a_store_learns_without_a_comparison(
    near_topics: TestClient,
) -> None:
    label = {"topic": "near", "text": "shut down my account", "label": True}
    near_topics.post("/labels", json={"labels": [label]})
    answer = near_topics.post("/topics/near/learn")
    assert answer.status_code == 200, answer.text
    assert answer.json()["changes"] is None


@pytest.fixture
def near_topics(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> TestClient:
    """A service that reads six places near phrases in its time, with a topic near more."""
    monkeypatch.setattr(nearness, "_READ", 0.01)
    client.put("/topics/near", json=NEAR)
    client.put("/topics/far", json={"phrases": ["where is my parcel"], "threshold": 0.99})
    client.put("/topics/rule", json={"any": ["near", "far"]})
    return client
