"""The service is bounded: in size, in time, and in how many requests wait."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx
import numpy as np
import pytest
from starlette.testclient import TestClient

from slice_os import Corpus, Hits, SpanEncoder
from slice_os.service.app import create_app
from slice_os.service.settings import Limits, ServiceSettings

from .conftest import asking, in_thread

BODY = {"phrases": "cancel my plan"}


@contextmanager
def blocked(
    settings: ServiceSettings, monkeypatch: pytest.MonkeyPatch, **limits: Any
) -> Iterator[tuple[str, threading.Event, list[int]]]:
    """A server whose searches wait for an event; its address, the event, and the searches begun."""
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
        release.set()
        assert httpx.post(f"{address}/search", json=BODY).status_code == 200
        assert len(begun) == 2


@pytest.mark.parametrize(
    ("path", "body"),
    [
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


def test_phrases_that_come_together_do_not_disturb_each_other(
    encoder: SpanEncoder, client: TestClient
) -> None:
    phrases = [f"cancel plan number {number}" for number in range(10)]

    def vector(phrase: str) -> Any:
        answer = client.post("/encode", json={"phrases": [phrase]})
        return answer.json()["phrases"][0] if answer.status_code == 200 else answer.status_code

    with ThreadPoolExecutor(12) as threads:
        *found, wrong = threads.map(vector, [*phrases, "..."])
    assert wrong == 400
    assert np.allclose(found, encoder.encode_phrases(phrases), atol=1e-6)
