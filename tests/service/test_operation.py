"""What operators see: metrics, access lines, traces, and how the service stops."""

from __future__ import annotations

import asyncio
import errno
import random
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import httpx
import orjson
import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from slice_os import Corpus, Document, SpanEncoder, StoreError
from slice_os.cli import cli
from slice_os.service import demo
from slice_os.service.app import listening
from tests.http_server import Asked, http_server
from tests.soak.clients import Clients
from tests.soak.everything import Served, place

from .conftest import served

SECRET = "a phrase that no log may have"


def test_requests_are_counted(client: TestClient) -> None:
    client.post("/search", json={"phrases": SECRET})
    client.post("/search", json={"phrases": 3})
    client.get("/documents/chat-1")
    client.get("/no/such/path")
    text = client.get("/metrics").text
    samples = {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }

    def count(method: str, route: str, status: str) -> float:
        labels = sorted({"method": method, "route": route, "status": status}.items())
        return samples[("slice_os_requests_total", *labels)]

    assert count("POST", "/search", "200") == 1
    assert count("POST", "/search", "422") == 1
    assert count("GET", "/documents/{doc_id:path}", "200") == 1
    assert count("other", "other", "404") == 1
    assert samples[("slice_os_working_requests",)] == 0
    assert ("process_resident_memory_bytes",) in samples
    assert SECRET not in text


@pytest.mark.slow
def test_access_lines_have_no_phrase_and_no_key(store_folder: Path, tmp_path: Path) -> None:
    with served(str(store_folder), *places(tmp_path)) as server:
        headers = {"X-Request-Id": "one-2", "Authorization": "Bearer slice-secret"}
        for path in ("search", "scan"):
            body = {"phrases": SECRET, "documents": []} if path == "scan" else {"phrases": SECRET}
            httpx.post(f"{server.address}/{path}", json=body, headers=headers, timeout=60)
        httpx.get(f"{server.address}/documents/{SECRET}")
        assert httpx.get(f"{server.address}/assets/app.js").is_success
    lines = list(map(orjson.loads, server.log))
    assert [line["route"] for line in lines] == ["/search", "/scan", "/documents/{doc_id:path}"]
    assert [line["status"] for line in lines] == [200, 200, 404]
    assert lines[0]["request_id"] == "one-2"
    assert SECRET not in "".join(server.log)
    assert "slice-secret" not in "".join(server.log)


def places(folder: Path) -> list[str]:
    return ["--work", str(folder)]


@pytest.fixture
def collector() -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """Takes traces; its address, and the paths and bodies that came."""
    came: list[tuple[str, bytes]] = []

    def answer(asked: Asked) -> None:
        came.append((asked.path, asked.content))
        asked.reply(200)

    with http_server(answer) as address:
        yield address, came


@pytest.mark.slow
def test_requests_are_spans_if_the_environment_says_where_to(
    store_folder: Path,
    tmp_path: Path,
    collector: tuple[str, list[tuple[str, bytes]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    address, came = collector
    trace = "0af7651916cd43dd8448eb211c80319c"
    variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": address}
    with served(str(store_folder), *places(tmp_path), environment=variables) as server:
        headers = {"traceparent": f"00-{trace}-b7ad6b7169203331-01"}
        body = {"phrases": SECRET}
        httpx.post(f"{server.address}/search", json=body, headers=headers, timeout=60)
    ((path, content), *_) = came
    assert path == "/v1/traces"
    assert b"POST /search" in content
    assert bytes.fromhex(trace) in content
    assert SECRET.encode() not in content


def wait_until_closed(address: str) -> None:
    """Ask until a service takes no new requests."""
    until = time.monotonic() + 8  # running requests may end within 10 seconds
    while time.monotonic() < until:
        try:
            httpx.get(f"{address}/health")
        except httpx.ConnectError:
            return
        except httpx.TransportError:
            pass  # it came while the service closed
        time.sleep(0.05)
    raise AssertionError(f"{address} still takes requests")


@pytest.mark.slow
@pytest.mark.release
def test_a_request_that_runs_may_end_when_the_service_stops(
    encoder: SpanEncoder, tmp_path: Path
) -> None:
    folder = tmp_path / "large"
    text = "I would like to cancel my subscription today. The weather is nice. "
    with Corpus(folder, encoder) as corpus:
        corpus.add(Document(f"d{number:02}", f"{number}. {text * 20}") for number in range(40))
    with served(str(folder), *places(tmp_path)) as server:
        body = {"phrases": "cancel my subscription", "threshold": 0.5, "verify": True}
        with httpx.stream("POST", f"{server.address}/mine", json=body, timeout=60) as answer:
            lines = answer.iter_lines()
            next(lines)
            server.process.terminate()
            wait_until_closed(server.address)
            *_, last = lines
        assert orjson.loads(last)["summary"]["complete"] is True
        assert server.process.wait(60) == 0


def test_parts_of_an_answer_do_not_wait_for_one_another() -> None:
    with listening("127.0.0.1", 0) as listener, socket.create_connection(listener.getsockname()):
        accepted, _ = listener.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_a_folder_without_a_store_is_told_before_anything_is_served(
    tmp_path: Path, store_folder: Path
) -> None:
    with pytest.raises(StoreError, match="no store here"):
        cli.main(["serve", str(store_folder), str(tmp_path / "none")], standalone_mode=False)


@pytest.mark.parametrize("name", ["a/b", ".."])
def test_a_store_has_a_name_that_requests_can_have(name: str, store_folder: Path) -> None:
    with pytest.raises(click.UsageError, match="no address of a request can have it"):
        cli.main(["serve", "--name", f"{name}={store_folder}"], standalone_mode=False)


@pytest.mark.slow
@pytest.mark.release
def test_the_demo_needs_nothing_else(tmp_path: Path) -> None:
    variables = {"XDG_CACHE_HOME": str(tmp_path)}
    # Of the documents of the sample every tenth, which is made sooner.
    fewer = (
        "from slice_os.service import demo; demo.SAMPLE_STEP *= 10; from slice_os.cli import main"
    )
    command = [sys.executable, "-c", f"{fewer}; main()"]
    for _ in range(2):  # made, then found
        with served("--demo", environment=variables, command=command) as server:
            body = {"phrases": "my phone screen is broken", "top_k": 3}
            answer = httpx.post(f"{server.address}/search", json=body, timeout=120).json()
            assert "my phone screen is broken" in answer["hits"][0]["text"]
            topic = {"name": "broken", "phrases": ["it is broken"]}
            httpx.put(f"{server.address}/topics/broken", json=topic).raise_for_status()
            httpx.delete(f"{server.address}/topics/broken").raise_for_status()
    assert (tmp_path / "slice-os" / "demo" / "topics").is_dir()


def test_a_sample_that_another_process_made_first_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(demo, "_documents", lambda: iter([Document("1", "a"), Document("2", "b")]))

    def full(path: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, "full")

    def too_late(path: Path, target: Path) -> None:
        target.mkdir()
        raise OSError(errno.ENOTEMPTY, "not empty")

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(OSError, match="full"):
        demo.sample_store()
    monkeypatch.setattr(Path, "rename", too_late)
    assert demo.sample_store().is_dir()


@pytest.mark.slow
@pytest.mark.release
def test_what_is_acknowledged_outlives_a_kill() -> None:
    async def everything(location: str, work: Path) -> list[str]:
        service = Served(location, work)
        clients = Clients(service, 20, random.Random(0))
        try:
            await clients.begin()
            offered = asyncio.create_task(clients.offer(30, 3))
            await clients.hurry(4, 1)
            await asyncio.to_thread(service.restart, kill=True)
            await offered
            await clients.check_all()
        finally:
            await clients.close()
            service.end(kill=False)
        return clients.bad

    with place("local") as (location, work, _):
        assert asyncio.run(everything(location, work)) == []
